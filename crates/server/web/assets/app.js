// Live updates and the keyboard. Pages work without it.
(function () {
  "use strict";
  var pending = {};

  // Regions of the page that show what changed ask for themselves again, unless somebody types in them.
  function refresh(name) {
    document.querySelectorAll('[data-live~="' + name + '"]').forEach(function (region) {
      var focused = document.activeElement;
      var typing = focused && region.contains(focused) && /^(INPUT|TEXTAREA|SELECT)$/.test(focused.tagName);
      if (!typing) htmx.trigger(region, "live");
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

  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    var search = document.querySelector("input[type=search]");
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  });
})();
