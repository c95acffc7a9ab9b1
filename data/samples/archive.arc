filedesc://archive.arc 0.0.0.0 20060707143215 text/plain 64
1 0 Own
URL IP-address Archive-date Content-type Archive-length

dns:www.example.com 192.0.2.1 20060707143216 text/dns 51
20060707143216
www.example.com.	300	IN	A	192.0.2.1

http://www.example.com/ 192.0.2.1 20060707143217 text/html 57
HTTP/1.1 200 OK
Content-Type: text/html

<p>Hello</p>

http://www.example.com/old 192.0.2.1 20060707143218 text/html 60
HTTP/1.1 301 Moved
Content-Type: text/html
Location: /


http://www.example.com/?b=1&a=2 192.0.2.1 20060707143219 text/html 53
HTTP/1.1 200 OK
Content-Type: text/html

<p>b</p>

http://www.example.com/?a=2&b=1 192.0.2.1 20060707143220 text/html 61
HTTP/1.1 404 Not Found
Content-Type: text/html

<p>no</p>

