"use strict";
// Draws the figures of the page in the colours of its theme, and lets the keyboard move them.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const paperWidth = 680;
  const narrowWidth = 640;
  const homes = new Map();

  // Every "var(--name)" in a figure becomes the colour that the style sheet has for it now.
  function coloured(value, style) {
    if (typeof value === "string") {
      const found = /^var\((--[a-z]+)\)$/.exec(value);
      return found ? style.getPropertyValue(found[1]).trim() : value;
    }
    if (Array.isArray(value)) {
      // Long arrays are numbers or names; only short ones hold colours.
      return value.length > 64 ? value : value.map((item) => coloured(item, style));
    }
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, coloured(item, style)]),
      );
    }
    return value;
  }

  // What a cell of a heat map says.
  function worded(trace) {
    if (trace.type !== "heatmap") {
      return trace;
    }
    const unit = trace.meta.unit;
    const word = (value, isSelf) =>
      value === null ? "not measured" : isSelf && value === 0 ? "the host itself" : `${value} ${unit}`;
    return { ...trace, text: trace.z.map((row, i) => row.map((z, j) => word(z, i === j))) };
  }

  function themed(figure, style, width) {
    const colour = (name) => style.getPropertyValue(name).trim();
    const base = {
      paper_bgcolor: "rgba(0, 0, 0, 0)",
      plot_bgcolor: "rgba(0, 0, 0, 0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      hoverlabel: {
        bgcolor: colour("--card"),
        bordercolor: colour("--muted"),
        font: { color: colour("--ink") },
        namelength: -1,
      },
      modebar: {
        bgcolor: "rgba(0, 0, 0, 0)",
        color: colour("--muted"),
        activecolor: colour("--accent"),
      },
      margin: { l: 16, r: 16, t: 32, b: 16 },
      autosize: width === undefined,
    };
    const { data, layout, narrow } = coloured(figure, style);
    const isNarrow = width === undefined && innerWidth <= narrowWidth;
    const all = { ...base, ...layout, ...(isNarrow ? narrow : {}) };
    if (width !== undefined) {
      all.width = width;
    }
    for (const key of Object.keys(all)) {
      if (/^[xy]axis\d*$/.test(key)) {
        const title = all[key].title && { standoff: 12, ...all[key].title };
        all[key] = { automargin: true, ...all[key], title };
      }
    }
    return { data: data.map(worded), layout: all };
  }

  function drawOne(id, width) {
    const place = document.getElementById(id);
    const share = place.closest(".half") === null ? 1 : 0.49;
    const { data, layout } = themed(figures[id], getComputedStyle(root), width && share * width);
    return Plotly.react(place, data, { ...layout, height: place.clientHeight }, {
      displaylogo: false,
      responsive: width === undefined,
      // By name, because the library's own choice sends data to a server at a click.
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    }).then(() => listen(place));
  }

  // What is folded has no size to draw in.
  function isFolded(id) {
    return document.getElementById(id).closest("details:not([open])") !== null;
  }

  function draw(width) {
    const seen = Object.keys(figures).filter((id) => !isFolded(id));
    return Promise.all(seen.map((id) => drawOne(id, width)));
  }

  function axesOf(place) {
    const names = Object.keys(place._fullLayout).filter((name) => /^[xy]axis\d*$/.test(name));
    return names.filter((name) => !place._fullLayout[name].fixedrange);
  }

  function rangesOf(place) {
    return Object.fromEntries(
      axesOf(place).map((name) => [`${name}.range`, [...place._fullLayout[name].range]]),
    );
  }

  // By shares of what is seen: `zoom` of each side is cut off, `x` and `y` are steps aside.
  function move(place, zoom, x, y) {
    const change = {};
    for (const [name, [low, high]] of Object.entries(rangesOf(place))) {
      const length = high - low;
      const step = length * (name.startsWith("x") ? x : y);
      change[name] = [low + zoom * length + step, high - zoom * length + step];
    }
    Plotly.relayout(place, change);
  }

  const keys = {
    "+": (place) => move(place, 0.1, 0, 0),
    "=": (place) => move(place, 0.1, 0, 0),
    "-": (place) => move(place, -0.125, 0, 0),
    ArrowLeft: (place) => move(place, 0, -0.1, 0),
    ArrowRight: (place) => move(place, 0, 0.1, 0),
    ArrowDown: (place) => move(place, 0, 0, -0.1),
    ArrowUp: (place) => move(place, 0, 0, 0.1),
    0: (place) => Plotly.relayout(place, homes.get(place.id)),
  };

  function listen(place) {
    if (homes.has(place.id)) {
      return;
    }
    homes.set(place.id, rangesOf(place));
    place.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (act && !event.ctrlKey && !event.altKey && !event.metaKey) {
        event.preventDefault();
        act(place);
      }
    });
  }

  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", () => {
      if (details.open) {
        details.querySelectorAll(".picture").forEach((place) => drawOne(place.id));
      }
    });
  }
  // Beside a narrow page's own layouts nothing depends on the width but what the library fits.
  let wasNarrow = innerWidth <= narrowWidth;
  addEventListener("resize", () => {
    const isNarrow = innerWidth <= narrowWidth;
    if (isNarrow !== wasNarrow) {
      wasNarrow = isNarrow;
      draw();
    }
  });
  draw().then(() => {
    root.dataset.drawn = "yes";
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    draw(paperWidth);
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    draw();
  });
})();
