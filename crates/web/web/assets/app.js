// Live updates and the keyboard. Pages work without it.
(function () {
  "use strict";
  var pending = {};

  function isTyping(element) {
    return element && /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
  }

  // Regions of the page that show what changed ask for themselves again, unless somebody types in them.
  function refresh(name) {
    document.querySelectorAll('[data-live~="' + name + '"]').forEach(function (region) {
      var focused = document.activeElement;
      if (!(region.contains(focused) && isTyping(focused))) htmx.trigger(region, "live");
    });
  }

  // Several changes within a moment are one.
  function changed(name) {
    if (pending[name]) return;
    pending[name] = setTimeout(function () {
      delete pending[name];
      refresh(name);
    }, 150);
  }

  // Updates leave what a reader opened or closed.
  if (window.htmx) htmx.config.morphIgnore.push("open");

  if (window.EventSource && document.querySelector("[data-live]")) {
    var dot = document.getElementById("live");
    var was = false;
    var source = new EventSource("/api/v1/changes");
    ["skills", "proposals", "events"].forEach(function (name) {
      source.addEventListener(name, function () { changed(name); });
    });
    source.addEventListener("open", function () {
      if (dot) dot.hidden = false;
      // Something may have been missed while the connection was away.
      if (was) ["skills", "proposals", "events"].forEach(changed);
      was = true;
    });
    source.addEventListener("error", function () { if (dot) dot.hidden = true; });
  }

  // On a phone the sections are one line, which may be scrolled.
  var nav = document.querySelector(".nav"), here = nav && nav.querySelector("[aria-current=page]");
  if (here) nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.clientWidth) / 2;

  document.addEventListener("keydown", function (event) {
    if (isTyping(document.activeElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    var search = document.querySelector("input[type=search]");
    if (event.key !== "/") return;
    event.preventDefault();
    if (search) {
      search.focus();
      search.select();
    } else {
      location.href = "/skills";
    }
  });
})();
