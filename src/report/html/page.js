// Sorts tables by a click on a heading, and filters their rows by a text. The page says the same
// without it.
"use strict";
(() => {
  const tables = [...document.querySelectorAll("table.rows")];
  const text = (row, column) => row.cells[column].textContent.trim();

  function sort(table, column) {
    const heads = table.tHead.rows[0].cells;
    const head = heads[column];
    const isNumber = head.classList.contains("n");
    // Numbers begin with the largest, names with the first.
    const now = head.getAttribute("aria-sort");
    const order = (now ? now === "descending" : !isNumber) ? "ascending" : "descending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const keys = new Map();
    for (const row of table.tBodies[0].rows) {
      const shown = text(row, column);
      keys.set(row, isNumber ? parseFloat(shown.replaceAll(",", "")) : shown);
    }
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...keys.keys()].sort((a, b) => {
      const [one, two] = [keys.get(a), keys.get(b)];
      return one < two ? -sign : one > two ? sign : 0;
    });
    table.tBodies[0].append(...rows);
  }

  for (const table of tables) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.classList.contains("plain")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column));
      head.append(button);
    });
  }

  // What a row is found by: names and URLs, each on a line of its own. Numbers are not looked for.
  const wordsOf = (element) => {
    const names = [...element.querySelectorAll("th")].flatMap((one) => [...one.childNodes]);
    const texts = [...names, ...element.querySelectorAll("td .u")].map((one) => one.textContent);
    return texts.join("\n").toLowerCase();
  };
  const words = new Map();
  const opened = new Set();

  // Opens what has something that is looked for, and closes again what was opened so.
  function open(folded, has) {
    if (has && !folded.open) {
      folded.open = true;
      opened.add(folded);
    } else if (!has && opened.delete(folded)) {
      folded.open = false;
    }
  }

  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter rows";
  field.setAttribute("aria-label", "Filter the rows of all tables");
  const found = document.createElement("span");
  found.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    const has = (element) => {
      if (!words.has(element)) words.set(element, wordsOf(element));
      return words.get(element).includes(wanted);
    };
    let count = 0;
    for (const table of tables) {
      let some = false;
      for (const row of [...table.tBodies[0].rows]) {
        row.hidden = !has(row);
        some ||= !row.hidden;
        count += !row.hidden;
      }
      for (const folded of table.querySelectorAll("details")) {
        const urls = [...folded.querySelectorAll(".u")];
        open(folded, wanted !== "" && urls.some((one) => one.textContent.toLowerCase().includes(wanted)));
      }
      const around = table.closest("details");
      if (around) open(around, wanted !== "" && some);
      const section = table.closest("section");
      section.hidden = !some;
      document.querySelector(`nav a[href="#${section.id}"]`).hidden = !some;
    }
    found.textContent = wanted === "" ? "" : count === 1 ? "1 row" : `${count} rows`;
  });
  if (tables.length > 0) document.querySelector("nav").append(found, field);
})();
