// Tables sort by the column whose head is clicked: numbers downwards first, then upwards.
document.querySelectorAll("th.sortable").forEach(function (head) {
  head.addEventListener("click", function () {
    var table = head.closest("table"), body = table.tBodies[0];
    var column = Array.prototype.indexOf.call(head.parentNode.children, head);
    var down = head.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    var key = function (row) {
      var cell = row.cells[column], value = cell.dataset.value;
      return value === undefined || isNaN(value) ? cell.textContent : Number(value);
    };
    Array.from(body.rows).sort(function (a, b) {
      var x = key(a), y = key(b), order = x < y ? -1 : x > y ? 1 : 0;
      return down ? -order : order;
    }).forEach(function (row) { body.appendChild(row); });
  });
});
