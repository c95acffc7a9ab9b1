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

  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter rows";
  field.setAttribute("aria-label", "Filter the rows of all tables");
  const found = document.createElement("span");
  found.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let count = 0;
    for (const table of tables) {
      let some = false;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        some ||= !row.hidden;
        count += !row.hidden;
      }
      table.closest("section").hidden = !some;
      const folded = table.closest("details");
      if (folded && wanted !== "") folded.open = true;
    }
    found.textContent = wanted === "" ? "" : count === 1 ? "1 row" : `${count} rows`;
  });
  if (tables.length > 0) document.querySelector("nav").append(found, field);
})();
