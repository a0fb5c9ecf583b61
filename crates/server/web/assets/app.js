// Live updates and the keyboard. Pages work without it.
(function () {
  "use strict";
  var pending = {};
  var FIELDS = "input:not([type=hidden]), textarea, select";

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

  // The elements of one kind in a region have the same order before and after an update, unless the region has others now.
  function each(region, selector, visit) {
    Array.prototype.forEach.call(region.querySelectorAll(selector), visit);
  }

  // What a reader did in a region: opened, scrolled, wrote, focused.
  function remember(region) {
    var state = { open: {}, scroll: {}, value: {}, focus: null };
    each(region, "details", function (details) { state.open[details.textContent.slice(0, 40)] = details.open; });
    each(region, "[tabindex]", function (box, index) { if (box.scrollTop || box.scrollLeft) state.scroll[index] = [box.scrollTop, box.scrollLeft]; });
    each(region, FIELDS, function (field) { if (field.name && field.type !== "checkbox" && field.value !== field.defaultValue) state.value[field.name] = field.value; });
    var focused = document.activeElement;
    if (region.contains(focused)) state.focus = focused.getAttribute("href") || focused.getAttribute("aria-label") || focused.textContent;
    return state;
  }

  function restore(region, state) {
    each(region, "details", function (details) {
      var open = state.open[details.textContent.slice(0, 40)];
      if (open !== undefined) details.open = open;
    });
    each(region, "[tabindex]", function (box, index) {
      if (state.scroll[index]) { box.scrollTop = state.scroll[index][0]; box.scrollLeft = state.scroll[index][1]; }
    });
    each(region, "textarea, input[type=text]", function (field) {
      if (state.value[field.name] !== undefined) field.value = state.value[field.name];
    });
    if (state.focus === null) return;
    var same = Array.prototype.find.call(region.querySelectorAll("a, button, summary, [tabindex]"), function (element) {
      return (element.getAttribute("href") || element.getAttribute("aria-label") || element.textContent) === state.focus;
    });
    if (same) same.focus({ preventScroll: true });
  }

  var states = {};
  document.addEventListener("htmx:beforeSwap", function (event) {
    var region = event.detail.target;
    if (region && region.id && region.hasAttribute("data-live")) states[region.id] = remember(region);
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    var id = event.detail.target && event.detail.target.id;
    var region = id && document.getElementById(id);
    if (region && states[id]) restore(region, states[id]);
    delete states[id];
  });

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
