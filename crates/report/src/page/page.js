"use strict";
// Draws the charts of the page, zooms, and says what is under the pointer. No network, no library.
(async () => {
  const root = document.documentElement;

  // ---- the data -------------------------------------------------------------------------------------
  // A report has them in itself; a live page fetches them, with the text around its charts, again and again.
  const live = document.getElementById("live");
  let charts, themes, bytes;
  async function take(packed) {
    const stream = packed.stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const all = new Uint8Array(await new Response(stream).arrayBuffer());
    const jsonLength = new DataView(all.buffer).getUint32(0, true);
    const state = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + jsonLength)));
    ({ charts, themes } = state);
    bytes = all.subarray(4 + jsonLength);
    return state;
  }
  async function fetched(name) {
    const response = await fetch(name, { cache: "no-store" });
    if (!response.ok) throw new Error(await response.text());
    return response.blob();
  }
  if (live) {
    const state = await take(await fetched("data"));
    live.innerHTML = state.body;
    document.getElementById("run").textContent = state.status;
  } else {
    const packed = atob(document.getElementById("data").textContent);
    await take(new Blob([Uint8Array.from(packed, (c) => c.charCodeAt(0))]));
  }

  function varints(at, count, into) {
    for (let i = 0; i < count; i++) {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
      into[i] = value;
    }
    return at;
  }

  // The edge of a cell: a whole number times a power of two, or the highest bits of a floating-point number.
  const bits = new DataView(new ArrayBuffer(8));
  function edge(axis, index) {
    if (!axis.log) return axis.origin + index * 2 ** axis.step;
    bits.setBigUint64(0, BigInt(index) << BigInt(44 + axis.step));
    return bits.getFloat64(0);
  }

  // A cloud becomes columns of numbers: where each point or cell begins and ends, its kind, its count.
  function unpack(cloud) {
    if (cloud.x0) return;
    if (cloud.points) {
      const { at, count, origin } = cloud.points;
      const view = new DataView(bytes.buffer, bytes.byteOffset + at);
      cloud.x0 = new Float64Array(count);
      cloud.y0 = new Float64Array(count);
      for (let i = 0; i < count; i++) {
        cloud.x0[i] = origin + view.getFloat32(4 * i, true);
        cloud.y0[i] = view.getFloat32(4 * (count + i), true);
      }
      cloud.x1 = cloud.x0;
      cloud.y1 = cloud.y0;
      cloud.k = bytes.subarray(at + 8 * count, at + 9 * count);
      cloud.n = null;
      return;
    }
    const { at, count, x, y } = cloud.cells;
    const raw = new Float64Array(count);
    const edgesX = new Map(), edgesY = new Map();
    const edges = (cache, axis, index) => {
      let value = cache.get(index);
      if (value === undefined) cache.set(index, (value = edge(axis, index)));
      return value;
    };
    cloud.x0 = new Float64Array(count);
    cloud.x1 = new Float64Array(count);
    cloud.y0 = new Float64Array(count);
    cloud.y1 = new Float64Array(count);
    cloud.k = new Uint8Array(count);
    cloud.n = new Float64Array(count);
    let next = varints(at, count, raw), index = 0;
    for (let i = 0; i < count; i++) {
      index += raw[i];
      const isZero = x.log && index === 0;
      cloud.x0[i] = isZero ? 0 : edges(edgesX, x, index);
      cloud.x1[i] = isZero ? 0 : edges(edgesX, x, index + 1);
    }
    next = varints(next, count, raw);
    index = 0;
    for (let i = 0; i < count; i++) {
      index += raw[i] % 2 ? -(raw[i] + 1) / 2 : raw[i] / 2;
      const isZero = y.log && index === 0, isNone = index === 0xffffffff;
      cloud.y0[i] = isNone ? Infinity : isZero ? 0 : edges(edgesY, y, index);
      cloud.y1[i] = isNone ? Infinity : isZero ? 0 : edges(edgesY, y, index + 1);
    }
    varints(next, count, raw);
    const kinds = cloud.kinds.length;
    for (let i = 0; i < count; i++) {
      cloud.k[i] = raw[i] % kinds;
      cloud.n[i] = Math.floor(raw[i] / kinds) + 1;
    }
  }

  // ---- numbers with units ---------------------------------------------------------------------------
  function plain(value) {
    const size = Math.abs(value);
    if (size >= 100 || size === 0) return value.toFixed(0);
    const decimals = size >= 10 ? 1 : size >= 1 ? 2 : 2 + Math.min(12, Math.max(0, Math.ceil(-Math.log10(size))));
    return value.toFixed(decimals).replace(/\.?0+$/, "");
  }
  function prefixed(value, prefixes, base) {
    let i = 0;
    while (Math.abs(value) >= base * 0.9995 && i + 1 < prefixes.length) {
      value /= base;
      i++;
    }
    return plain(value) + prefixes[i];
  }
  function text(value, unit) {
    const size = Math.abs(value);
    switch (unit) {
      case "seconds":
        if (value === 0) return "0 s";
        if (size < 0.9995e-6) return plain(value * 1e9) + " ns";
        if (size < 0.9995e-3) return plain(value * 1e6) + " µs";
        if (size < 0.9995) return plain(value * 1e3) + " ms";
        return plain(value) + " s";
      case "bytes": return prefixed(value, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"], 1024);
      case "bytes_per_s": return prefixed(value, [" B/s", " kB/s", " MB/s", " GB/s", " TB/s"], 1000);
      case "share": return plain(100 * value) + " %";
      default: return size < 9999.5 ? plain(value) : prefixed(value, ["", " k", " M", " G", " T", " P"], 1000);
    }
  }
  // A value on an axis that shows but a little of it needs more digits, so that neighbours differ.
  function exact(value, unit, step) {
    const size = Math.abs(value);
    if (!step || size < 1000 * step) return text(value, unit);
    const decimals = (divisor) => Math.min(12, Math.max(0, -Math.floor(Math.log10(step / divisor) + 1e-9)));
    if (unit === "seconds") return value.toFixed(decimals(1)) + " s";
    if (unit === "bytes") {
      const power = Math.min(5, Math.floor(Math.log2(size) / 10));
      return (value / 1024 ** power).toFixed(decimals(1024 ** power)) + [" B", " KiB", " MiB", " GiB", " TiB", " PiB"][power];
    }
    if (unit === "number" || unit === "count") {
      const [divisor, prefix] = size < 9999.5 ? [1, ""] : size < 1e6 ? [1e3, " k"] : size < 1e9 ? [1e6, " M"] : [1e9, " G"];
      return (value / divisor).toFixed(decimals(divisor)) + prefix;
    }
    return text(value, unit);
  }

  // ---- scales ---------------------------------------------------------------------------------------
  const share = (axis, [from, to], value) =>
    axis.log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  const value = (axis, [from, to], at) => (axis.log ? from * (to / from) ** at : from + at * (to - from));

  function step125(raw) {
    const decade = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].map((d) => d * decade).find((s) => s >= raw * 0.999999);
  }
  function ticks(axis, range, wanted) {
    const [from, to] = range, marks = [];
    if (!axis.log) {
      const raw = ((to - from) / wanted) * 0.8;
      let step = axis.unit === "bytes" ? 2 ** Math.ceil(Math.log2(raw)) : step125(raw);
      if (axis.unit === "count") step = Math.max(1, step);
      const long = axis.unit === "seconds" && to - from > 420;
      if (long) {
        const steps = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
        step = steps.find((s) => s >= raw) || step;
      }
      for (let i = Math.ceil(from / step - 1e-9); i <= Math.floor(to / step + 1e-9); i++) {
        const at = i * step;
        const words = at === 0 ? "0" : !long ? exact(at, axis.unit, step)
          : step >= 86400 ? plain(at / 86400) + " d" : step >= 3600 ? plain(at / 3600) + " h" : plain(at / 60) + " min";
        marks.push([at, words]);
      }
      return marks;
    }
    const decades = Math.log10(to / from);
    if (decades < 0.7) {
      // Deep within a decade, round numbers serve better.
      let step = step125(((to - from) / wanted) * 0.8);
      if (axis.unit === "count") step = Math.max(1, step);
      for (let i = Math.ceil(from / step); i <= Math.floor(to / step); i++) marks.push([i * step, text(i * step, axis.unit)]);
      return marks;
    }
    if (axis.unit === "bytes") {
      const first = Math.ceil(Math.log2(from)), last = Math.floor(Math.log2(to));
      const stride = Math.floor((last - first) / wanted) + 1;
      for (let p = first; p <= last; p++) marks.push([2 ** p, p % stride === 0 ? text(2 ** p, "bytes") : null]);
      return marks;
    }
    const fives = decades * 3 < 1.6 * wanted, stride = Math.max(1, Math.ceil(decades / (1.3 * wanted)));
    for (let d = Math.floor(Math.log10(from)); d <= Math.ceil(Math.log10(to)); d++) {
      for (let digit = 1; digit < 10; digit++) {
        const at = digit * 10 ** d;
        if (at < from * 0.999999 || at > to * 1.000001) continue;
        if (axis.unit === "count" && at < 1) continue;
        const major = digit === 1 ? ((d % stride) + stride) % stride === 0 : (digit === 2 || digit === 5) && fives;
        marks.push([at, major ? text(at, axis.unit) : null]);
      }
    }
    return marks;
  }

  // What an axis must show.
  function extent(chart, which) {
    const axis = chart[which];
    let from = Infinity, to = -Infinity;
    const add = (v) => {
      if (v === null || v === undefined || !Number.isFinite(v) || (axis.log && v <= 0)) return;
      from = Math.min(from, v);
      to = Math.max(to, v);
    };
    axis.include.forEach(add);
    for (const mark of chart.marks) {
      if (mark.kind === "cloud") ((which === "x" ? mark.rangeX : mark.rangeY) || []).forEach(add);
      if (mark.kind === "line") mark[which].forEach(add);
      if (mark.kind === "band") (which === "x" ? mark.x : mark.low.concat(mark.high)).forEach(add);
      if (mark.kind === "bars") for (const b of mark.bins) (which === "x" ? [b[0], b[1]] : [b[2], b[3]]).forEach(add);
      if (mark.kind === "estimates") for (const e of mark.points) (which === "x" ? [e[0]] : e.slice(1)).forEach(add);
      if (mark.kind === "heat") for (const c of mark.cells) (which === "x" ? [c[0], c[1]] : [c[2], c[3]]).forEach(add);
    }
    if (axis.range) return axis.range;
    if (from > to) return axis.log ? [1e-4, 1e-1] : [0, 1];
    if (which === "y" && chart.limit && chart.limit.at <= to * 10) add(chart.limit.at);
    if (axis.log) {
      from /= 1.1;
      to *= 1.1;
      if (which === "y") to *= 1.15;
      return to / from < 10 ? [from / 2, to * 2] : [from, to];
    }
    if (from === to) return from === 0 ? [0, 1] : [Math.min(from, 0), to * 1.5];
    const room = to - from;
    return [from >= 0 && from < 0.02 * room ? 0 : from - 0.004 * room, to + (which === "y" ? 0.05 : 0.004) * room];
  }

  // ---- theme ----------------------------------------------------------------------------------------
  let theme = "light";
  function setTheme(name) {
    theme = name;
    root.dataset.theme = name;
    root.style.colorScheme = name;
    for (const [key, colour] of Object.entries(themes[name].colours)) root.style.setProperty("--" + key, colour);
    document.getElementById("theme").textContent = name === "dark" ? "Light" : "Dark";
  }
  const colourOf = (name) => themes[theme].colours[name];
  const onRamp = (ramp, at) => {
    const place = Math.min(1, Math.max(0, at)) * 3, i = Math.min(2, Math.floor(place));
    return [0, 1, 2].map((c) => ramp[i][c] + (ramp[i + 1][c] - ramp[i][c]) * (place - i));
  };

  // ---- a chart --------------------------------------------------------------------------------------
  const LEFT = 84, RIGHT = 16, TOP = 10, BOTTOM = 50, BAND = 20;
  const FONT = "13px system-ui, 'DejaVu Sans', sans-serif", LINE = 13;
  const views = [];
  // The corners of markers, in radii; a disc has none. From a marker to the next one on the same curve.
  const SHAPES = {
    square: [[-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]],
    up: [[-1, .9], [0, -1], [1, .9]],
    diamond: [[-1, 0], [0, -1], [1, 0], [0, 1]],
    down: [[-1, -.9], [0, 1], [1, -.9]],
    plus: [[-1, -.35], [-.35, -.35], [-.35, -1], [.35, -1], [.35, -.35], [1, -.35],
      [1, .35], [.35, .35], [.35, 1], [-.35, 1], [-.35, .35], [-1, .35]],
  };
  const APART = 170;

  class View {
    constructor(chart, figure) {
      this.chart = chart;
      this.canvas = figure.querySelector("canvas");
      this.output = figure.querySelector("output");
      this.whole = { x: extent(chart, "x"), y: extent(chart, "y") };
      this.x = this.whole.x;
      this.y = this.whole.y;
      this.bands = { top: false, bottom: false, left: false };
      this.left = LEFT;
      this.labels = [];
      this.isSeen = false;
      this.isDue = true;
      this.listen(figure);
    }

    // What it shows has grown. What the viewer has zoomed into stays.
    renew(chart) {
      const isWhole = { x: this.x === this.whole.x, y: this.y === this.whole.y };
      this.chart = chart;
      this.bands = { top: false, bottom: false, left: false };
      this.whole = { x: extent(chart, "x"), y: extent(chart, "y") };
      for (const axis of ["x", "y"]) if (isWhole[axis]) this[axis] = this.whole[axis];
    }

    // Where the data are, in CSS pixels.
    place() {
      const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
      return {
        width, height, left: this.left, top: TOP, right: width - RIGHT, bottom: height - BOTTOM,
        dataLeft: this.left + (this.bands.left ? BAND : 0),
        dataTop: TOP + (this.bands.top ? BAND : 0),
        dataBottom: height - BOTTOM - (this.bands.bottom ? BAND : 0),
      };
    }
    px(p, v) {
      if (this.chart.x.log && v <= 0) return p.left + BAND / 2;
      return p.dataLeft + share(this.chart.x, this.x, v) * (p.right - p.dataLeft);
    }
    py(p, v) {
      if (v === Infinity) return p.top + BAND / 2;
      if (this.chart.y.log && v <= 0) return this.bands.bottom ? p.bottom - BAND / 2 : p.bottom;
      return p.dataBottom - share(this.chart.y, this.y, v) * (p.dataBottom - p.dataTop);
    }

    draw() {
      if (!this.isSeen) return;
      const ratio = Math.min(2, window.devicePixelRatio || 1);
      const { clientWidth, clientHeight } = this.canvas;
      if (clientWidth === 0) return;
      this.isDue = false;
      this.canvas.width = clientWidth * ratio;
      this.canvas.height = clientHeight * ratio;
      for (const mark of this.chart.marks) {
        if (mark.kind !== "cloud") continue;
        unpack(mark);
        if (mark.bands) continue;
        mark.bands = { top: false, bottom: false, left: false };
        for (let i = 0; i < mark.x0.length; i++) {
          if (mark.y0[i] === Infinity) mark.bands.top = true;
          if (this.chart.y.log && mark.y0[i] === 0) mark.bands.bottom = true;
          if (this.chart.x.log && mark.x0[i] === 0) mark.bands.left = true;
        }
        for (const side of ["top", "bottom", "left"]) this.bands[side] ||= mark.bands[side];
      }
      const g = this.canvas.getContext("2d");
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.font = FONT;
      // How wide the labels are says where the axis stands.
      const room = this.place();
      this.ticksY = ticks(this.chart.y, this.y, Math.max(3, (room.bottom - room.top) / 45));
      const widths = this.ticksY.map(([, words]) => (words ? g.measureText(words).width : 0));
      this.left = Math.max(LEFT, Math.ceil(Math.max(0, ...widths)) + 32);
      const p = this.place();
      g.fillStyle = colourOf("background");
      g.fillRect(0, 0, p.width, p.height);
      this.grid(g, p);
      g.save();
      g.beginPath();
      // Clouds look after their bands themselves.
      const hasBands = this.bands.top || this.bands.bottom || this.bands.left;
      if (hasBands) g.rect(p.left, p.top, p.right - p.left + 1, p.bottom - p.top);
      else g.rect(p.left, p.top - 1, p.right - p.left + 1, p.bottom - p.top + 2);
      g.clip();
      for (const mark of this.chart.marks) this[mark.kind](g, p, mark, ratio);
      this.limit(g, p);
      g.restore();
      this.axes(g, p);
      this.callouts(g, p);
    }

    grid(g, p) {
      this.ticksX = ticks(this.chart.x, this.x, Math.max(3, (p.right - p.left) / 110));
      g.lineWidth = 1;
      const line = (major, x0, y0, x1, y1) => {
        g.strokeStyle = colourOf(major ? "grid" : "minor");
        g.beginPath();
        g.moveTo(x0, y0);
        g.lineTo(x1, y1);
        g.stroke();
      };
      for (const [at, words] of this.ticksX) {
        const x = Math.round(this.px(p, at)) + 0.5;
        line(words !== null, x, p.top, x, p.bottom);
      }
      for (const [at, words] of this.ticksY) {
        const y = Math.round(this.py(p, at)) + 0.5;
        line(words !== null, p.left, y, p.right, y);
      }
    }

    axes(g, p) {
      g.strokeStyle = colourOf("axis");
      g.fillStyle = colourOf("text");
      g.font = FONT;
      g.beginPath();
      g.moveTo(p.left + 0.5, p.top);
      g.lineTo(p.left + 0.5, p.bottom + 0.5);
      g.lineTo(p.right, p.bottom + 0.5);
      g.stroke();
      this.labels = [];
      this.labelX(g, p);
      this.labelY(g, p);
      g.strokeStyle = colourOf("muted");
      const border = (x0, y0, x1, y1) => {
        g.beginPath();
        g.moveTo(x0, y0);
        g.lineTo(x1, y1);
        g.stroke();
      };
      if (this.bands.bottom) {
        border(p.left, p.dataBottom + 0.5, p.right, p.dataBottom + 0.5);
      }
      if (this.bands.top) {
        border(p.left, p.dataTop + 0.5, p.right, p.dataTop + 0.5);
      }
      if (this.bands.left) border(p.dataLeft + 0.5, p.top, p.dataLeft + 0.5, p.bottom);
      g.font = "14px system-ui, 'DejaVu Sans', sans-serif";
      g.fillStyle = colourOf("muted");
      g.textAlign = "center";
      g.textBaseline = "bottom";
      g.fillText(this.chart.x.name, (p.left + p.right) / 2, p.height - 4, p.right - p.left);
      g.save();
      g.translate(4, (p.top + p.bottom) / 2);
      g.rotate(-Math.PI / 2);
      g.textBaseline = "top";
      g.fillText(this.chart.y.name, 0, 0, p.bottom - p.top);
      g.restore();
    }

    // Labels that have room: none touches one before it on its axis, and none leaves the picture.
    label(g, axis, words, left, top, gap) {
      const right = left + g.measureText(words).width, bottom = top + LINE;
      const touches = (o) => o.axis === axis && left < o.right + gap && o.left < right + gap && top < o.bottom && o.top < bottom;
      if (this.labels.some(touches)) return;
      this.labels.push({ axis, words, left, top, right, bottom });
      g.fillText(words, left, top + LINE / 2);
    }
    // What bands say comes first: nothing else says it.
    labelX(g, p) {
      g.textAlign = "left";
      g.textBaseline = "middle";
      const at = (words, x) => {
        const width = g.measureText(words).width;
        this.label(g, "x", words, Math.max(0, Math.min(x - width / 2, p.width - 2 - width)), p.bottom + 7, 8);
      };
      if (this.bands.left) at("0", p.left + BAND / 2);
      for (const [place, words] of this.ticksX) if (words) at(words, this.px(p, place));
    }
    labelY(g, p) {
      const at = (words, y) => this.label(g, "y", words, p.left - 7 - g.measureText(words).width, y - LINE / 2, 0);
      if (this.bands.bottom) at("0", Math.max(p.bottom - BAND / 2, p.dataBottom + LINE + 1));
      if (this.bands.top) at("none", Math.min(p.top + BAND / 2, p.dataTop - LINE - 1));
      for (const [place, words] of this.ticksY) if (words) at(words, this.py(p, place));
    }

    limit(g, p) {
      const limit = this.chart.limit;
      if (!limit || limit.at < this.y[0] || limit.at > this.y[1]) return;
      g.strokeStyle = colourOf(limit.kept ? "good" : "warning");
      g.lineWidth = 2;
      g.setLineDash([12, 6]);
      g.beginPath();
      g.moveTo(p.left, this.py(p, limit.at));
      g.lineTo(p.right, this.py(p, limit.at));
      g.stroke();
      g.setLineDash([]);
    }

    cloud(g, p, mark, ratio) {
      // Which are in sight: both ends are sorted to the right where the grid is linear.
      let seen = 0, from = 0, to = mark.x0.length;
      if (mark.cells && !this.chart.x.log) {
        from = lowerBound(mark.x1, this.x[0]);
        to = lowerBound(mark.x0, this.x[1]);
      }
      const logX = this.chart.x.log, logY = this.chart.y.log;
      const isInX = (i) => mark.x1[i] >= this.x[0] && mark.x0[i] <= this.x[1] || (logX && mark.x0[i] === 0);
      // What has no value, or zero on a logarithmic axis, has a band; all else must not stray into it.
      const isInY = (i) => mark.y1[i] >= this.y[0] && mark.y0[i] <= this.y[1] || mark.y0[i] === Infinity || (logY && mark.y0[i] === 0);
      const isIn = (i) => isInX(i) && isInY(i);
      if (!mark.n) {
        for (let i = from; i < to; i++) seen += isIn(i);
        this.dots(g, p, mark, from, to, isIn, seen < 3000 ? 2.2 : seen < 12000 ? 1.7 : 1.3);
        return;
      }
      // Cells of the picture: two pixels of the screen wide and high.
      const side = 2 / ratio, kinds = mark.kinds.length;
      const columns = Math.ceil((p.right - p.left) / side) + 1, rows = Math.ceil((p.bottom - p.top) / side) + 1;
      const counts = new Float32Array(columns * rows * kinds);
      const slowest = new Map();
      let inSight = 0;
      for (let i = from; i < to; i++) {
        if (!isIn(i)) continue;
        const x0 = this.px(p, mark.x0[i]) - p.left, x1 = this.px(p, mark.x1[i]) - p.left;
        const y1 = this.py(p, mark.y0[i]) - p.top, y0 = this.py(p, mark.y1[i]) - p.top;
        if (y1 < 0 || y0 > p.bottom - p.top) continue;
        const c0 = Math.max(0, Math.floor(x0 / side)), c1 = Math.min(columns - 1, Math.max(c0, Math.ceil(x1 / side) - 1));
        const r0 = Math.max(0, Math.floor(y0 / side)), r1 = Math.min(rows - 1, Math.max(r0, Math.ceil(y1 / side) - 1));
        const part = mark.n[i] / ((c1 - c0 + 1) * (r1 - r0 + 1));
        for (let c = c0; c <= c1; c++) for (let r = r0; r <= r1; r++) counts[(r * columns + c) * kinds + mark.k[i]] += part;
        inSight++;
        if (mark.y0[i] !== Infinity && logY) {
          const key = (Math.floor((x0 + x1) / 8)) * kinds + mark.k[i], y = (y0 + y1) / 2;
          const best = slowest.get(key);
          if (!best || y < best[1]) slowest.set(key, [(x0 + x1) / 2, y, mark.k[i]]);
        }
      }
      if (inSight < 6000) {
        // Few enough to be seen one by one.
        this.dots(g, p, mark, from, to, isIn, inSight < 2000 ? 2 : 1.5);
        return;
      }
      let most = 1;
      for (let i = 0; i < counts.length; i += kinds) {
        let sum = 0;
        for (let k = 0; k < kinds; k++) sum += counts[i + k];
        if (sum > most) most = sum;
      }
      const ramps = mark.kinds.map((kind) => themes[theme].ramps[kind.colour]);
      const image = new ImageData(columns, rows), scale = 1 / Math.log1p(most);
      for (let i = 0, cell = 0; i < counts.length; i += kinds, cell++) {
        let sum = 0, weights = 0;
        for (let k = 0; k < kinds; k++) sum += counts[i + k];
        if (sum === 0) continue;
        const at = Math.log1p(sum) * scale, mixed = [0, 0, 0];
        for (let k = 0; k < kinds; k++) if (counts[i + k] > 0) {
          const weight = Math.log1p(counts[i + k]), colour = onRamp(ramps[k], at);
          weights += weight;
          for (let c = 0; c < 3; c++) mixed[c] += colour[c] * weight;
        }
        for (let c = 0; c < 3; c++) image.data[4 * cell + c] = mixed[c] / weights;
        image.data[4 * cell + 3] = 255;
      }
      const layer = document.createElement("canvas");
      layer.width = columns;
      layer.height = rows;
      layer.getContext("2d").putImageData(image, 0, 0);
      g.imageSmoothingEnabled = false;
      g.drawImage(layer, p.left, p.top, columns * side, rows * side);
      for (const [x, y, kind] of slowest.values()) {
        g.fillStyle = colourOf(mark.kinds[kind].colour);
        g.beginPath();
        g.arc(p.left + x, p.top + y, 1.7, 0, 7);
        g.fill();
      }
    }

    // Points, or the few cells in sight, one by one; what is rarer lies on top.
    dots(g, p, mark, from, to, isIn, radius) {
      g.globalAlpha = radius > 2 ? 0.75 : 0.6;
      for (const kind of this.rarestLast(mark)) {
        g.fillStyle = colourOf(mark.kinds[kind].colour);
        g.beginPath();
        for (let i = from; i < to; i++) {
          if (mark.k[i] !== kind || !isIn(i)) continue;
          const x = (this.px(p, mark.x0[i]) + this.px(p, mark.x1[i])) / 2;
          const y = (this.py(p, mark.y0[i]) + this.py(p, mark.y1[i])) / 2;
          g.moveTo(x + radius, y);
          g.arc(x, y, radius, 0, 7);
        }
        g.fill();
      }
      g.globalAlpha = 1;
    }

    rarestLast(mark) {
      return mark.kinds.map((_, k) => k).sort((a, b) => mark.kinds[b].count - mark.kinds[a].count);
    }

    // The pieces of a path through the points, in steps where they are windows: a gap where a value is missing.
    pieces(p, xs, ys, steps) {
      const pieces = [];
      let piece = null, last = 0;
      const least = this.y[0];
      for (let i = 0; i < xs.length; i++) {
        const x = xs[i] === null ? NaN : this.px(p, xs[i]);
        if (ys[i] === null || Number.isNaN(x)) {
          if (piece && steps && !Number.isNaN(x)) piece.push([x, last]);
          piece = null;
          continue;
        }
        const y = this.py(p, this.chart.y.log && ys[i] <= 0 ? least : ys[i]);
        if (!piece) pieces.push(piece = []);
        else if (steps) piece.push([x, last]);
        piece.push([x, y]);
        last = y;
      }
      return pieces;
    }

    // The dashes go on from piece to piece. A piece that (nearly) none falls on is a dot, as is one point, and what a dot
    // of a line above would cover.
    line(g, p, mark) {
      g.strokeStyle = g.fillStyle = colourOf(mark.colour);
      g.lineWidth = 2;
      // A mitre would reach beyond the end of a spike.
      g.lineJoin = "bevel";
      const [on, off, phase] = mark.dash || [1, 0, 0], period = on + off;
      if (mark.dash) g.setLineDash([on, off]);
      else g.beginPath();
      const dots = [];
      let way = 0;
      for (const piece of this.pieces(p, mark.x, mark.y, mark.steps)) {
        let length = 0;
        for (let i = 1; i < piece.length; i++)
          length += Math.hypot(piece[i][0] - piece[i - 1][0], piece[i][1] - piece[i - 1][1]);
        const from = (((way - phase) % period) + period) % period;
        way += length;
        const drawn = Math.max(0, Math.min(on - from, length)) + Math.max(0, from + length - period);
        if (length === 0 || (mark.dash && drawn < 2) || (mark.together && length < 2 * mark.dot)) {
          const [a, b] = [piece[0], piece[piece.length - 1]];
          dots.push([(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
          continue;
        }
        if (mark.dash) {
          g.lineDashOffset = from;
          g.beginPath();
        }
        piece.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
        if (mark.dash) g.stroke();
      }
      if (!mark.dash) g.stroke();
      g.setLineDash([]);
      g.lineDashOffset = 0;
      for (const [x, y] of dots) g.fillRect(x - mark.dot, y - mark.dot, 2 * mark.dot, 2 * mark.dot);
      if (mark.marker) this.along(g, p, mark);
    }

    // A marker with a border, so that it is seen on other curves.
    marker(g, name, x, y, radius, colour) {
      for (const [r, fill] of [[radius + Math.max(1, radius / 4), colourOf("background")], [radius, colour]]) {
        g.fillStyle = fill;
        g.beginPath();
        if (SHAPES[name]) SHAPES[name].forEach(([dx, dy]) => g.lineTo(x + dx * r, y + dy * r));
        else g.arc(x, y, r, 0, 7);
        g.fill();
      }
    }

    // Markers along a curve, at places of its own: the golden ratio spreads any number of them.
    along(g, p, mark) {
      const pieces = this.pieces(p, mark.x, mark.y, mark.steps), colour = colourOf(mark.colour);
      let next = p.left + ((0.5 + mark.turn * 0.618034) % 1) * APART;
      for (; next < p.right; next += APART) {
        for (const piece of pieces) {
          const i = piece.findIndex(([x], i) => i > 0 && piece[i - 1][0] <= next && next <= x);
          if (i < 0) continue;
          const [[x0, y0], [x1, y1]] = [piece[i - 1], piece[i]];
          const y = y0 + ((y1 - y0) * (next - x0)) / Math.max(1, x1 - x0);
          if (y >= p.top && y <= p.bottom) this.marker(g, mark.marker, next, y, 4.5, colour);
          break;
        }
      }
    }

    // Values that are named where they are. Words keep clear of each other and of the marked places; where not all points
    // have room for theirs, none has, as on pictures.
    callouts(g, p) {
      const taken = [], written = [];
      const isOn = (v, [from, to]) => from <= v && v <= to;
      const free = (words, corners) => {
        const wide = g.measureText(words).width;
        for (const [left, top] of corners(wide)) {
          const [right, bottom] = [left + wide, top + LINE];
          const isIn = left > p.left + 2 && top > p.top + 2 && right < p.right - 2 && bottom < p.bottom - 2;
          if (isIn && !taken.some(([l, t, r, b]) => left - 2 < r && l < right + 2 && top - 2 < b && t < bottom + 2))
            return [left, top, right, bottom];
        }
        return null;
      };
      const keep = (words, area, colour) => {
        if (!area) return;
        taken.push(area);
        written.push({ words, area, colour });
      };
      g.lineWidth = 1;
      for (const guide of this.chart.guides) {
        if (!isOn(guide.at, this.y)) continue;
        const y = this.py(p, guide.at);
        g.strokeStyle = colourOf("muted");
        g.setLineDash([2, 4]);
        g.beginPath();
        g.moveTo(p.left, y);
        g.lineTo(p.right, y);
        g.stroke();
        g.setLineDash([]);
        keep(guide.text, free(guide.text, () => [[p.left + 6, y - 3 - LINE], [p.left + 6, y + 3]]), "muted");
      }
      const places = this.chart.callouts.filter((of) => isOn(of.x, this.x) && (of.isLine || isOn(of.y, this.y)));
      const points = places.filter((of) => !of.isLine).map((of) => ({ ...of, at: [this.px(p, of.x), this.py(p, of.y)] }));
      for (const { at: [x, y] } of points) taken.push([x - 5, y - 5, x + 5, y + 5]);
      const before = [taken.length, written.length];
      for (const of of points) {
        const [x, y] = of.at;
        of.area = free(of.text, (wide) => [0, 1, 2, 3, 4, 5, 6].flatMap((step) => {
          const down = step * (LINE + 5), [right, left, below, above] = [x + 9, x - 9 - wide, y + 2 + down, y - LINE - 2 - down];
          return [[right, below], [left, above], [left, below], [right, above]];
        }));
        keep(of.text, of.area, "text");
      }
      if (points.length > 8 || points.some((of) => !of.area)) {
        [taken.length, written.length] = before;
        for (const of of points) of.area = null;
      }
      for (const of of places.filter((of) => of.isLine)) {
        const x = this.px(p, of.x);
        keep(of.text, free(of.text, (wide) => Array.from({ length: 12 }, (_, step) => p.bottom - 8 - LINE - step * (LINE + 6))
          .flatMap((top) => [[x + 9, top], [x - 9 - wide, top]])), of.colour);
      }
      for (const { at: [x, y], area, marker, colour } of points) {
        const near = area && [Math.min(area[2], Math.max(area[0], x)), Math.min(area[3], Math.max(area[1], y))];
        if (near && Math.hypot(near[0] - x, near[1] - y) >= 16) {
          g.strokeStyle = colourOf("muted");
          g.beginPath();
          g.moveTo(x, y);
          g.lineTo(...near);
          g.stroke();
        }
        this.marker(g, marker, x, y, 5, colourOf(colour));
      }
      g.textBaseline = "top";
      g.textAlign = "left";
      for (const { words, area: [left, top, right, bottom], colour } of written) {
        g.globalAlpha = 0.8;
        g.fillStyle = colourOf("background");
        g.fillRect(left - 1.5, top - 1.5, right - left + 3, bottom - top + 3);
        g.globalAlpha = 1;
        g.fillStyle = colourOf(colour);
        g.fillText(words, left, top);
      }
      this.written = written;
    }

    band(g, p, mark) {
      g.fillStyle = colourOf(mark.colour);
      g.globalAlpha = 0.22;
      for (let i = 0; i + 1 < mark.x.length; i++) {
        const x0 = this.px(p, mark.x[i]), x1 = this.px(p, mark.x[i + 1]), j = mark.steps ? i : i + 1;
        if ([mark.low[i], mark.high[i], mark.low[j], mark.high[j]].includes(null)) continue;
        g.beginPath();
        g.moveTo(x0, this.py(p, mark.high[i]));
        g.lineTo(x1, this.py(p, mark.high[j]));
        g.lineTo(x1, this.py(p, mark.low[j]));
        g.lineTo(x0, this.py(p, mark.low[i]));
        g.fill();
      }
      g.globalAlpha = 1;
    }

    bars(g, p, mark) {
      g.fillStyle = colourOf(mark.colour);
      for (const [from, to, low, high] of mark.bins) {
        if (high <= low) continue;
        const x0 = this.px(p, from), x1 = this.px(p, to), y0 = this.py(p, high), y1 = this.py(p, low);
        const gap = x1 - x0 > 4 ? 1 : 0;
        g.fillRect(x0, Math.min(y0, y1 - 1), Math.max(1, x1 - x0 - gap), Math.max(1, y1 - y0));
      }
    }

    estimates(g, p, mark) {
      g.strokeStyle = g.fillStyle = colourOf(mark.colour);
      g.lineWidth = 2;
      for (const [at, mean, low, high] of mark.points) {
        if (at === null || mean === null) continue;
        const x = this.px(p, at);
        if (low !== null && high !== null) {
          g.beginPath();
          g.moveTo(x, this.py(p, low));
          g.lineTo(x, this.py(p, high));
          for (const end of [low, high]) {
            g.moveTo(x - 5, this.py(p, end));
            g.lineTo(x + 5, this.py(p, end));
          }
          g.stroke();
        }
        if (!mark.marker) g.fillRect(x - 3.5, this.py(p, mean) - 3.5, 7, 7);
        else {
          this.marker(g, mark.marker, x, this.py(p, mean), 4.5, colourOf(mark.colour));
          g.fillStyle = colourOf(mark.colour);
        }
      }
    }

    heat(g, p, mark) {
      let most = 1;
      for (const cell of mark.cells) most = Math.max(most, cell[4]);
      for (const [x0, x1, y0, y1, n] of mark.cells) {
        const [r, gr, b] = onRamp(themes[theme].heat, Math.log1p(n) / Math.log1p(most));
        g.fillStyle = `rgb(${r | 0},${gr | 0},${b | 0})`;
        const left = Math.floor(this.px(p, x0)), top = Math.floor(this.py(p, y1));
        g.fillRect(left, top, Math.max(1, Math.ceil(this.px(p, x1)) - left), Math.max(1, Math.ceil(this.py(p, y0)) - top));
      }
    }

    // ---- what is under the pointer ----
    say(px, py) {
      const p = this.place(), x = this.chart.x, y = this.chart.y;
      if (px < p.dataLeft || px > p.right || py < p.top || py > p.bottom) {
        this.output.textContent = "";
        return;
      }
      const at = value(x, this.x, (px - p.dataLeft) / (p.right - p.dataLeft));
      const up = value(y, this.y, (p.dataBottom - py) / (p.dataBottom - p.dataTop));
      const stepX = this.ticksX && this.ticksX.length > 1 ? (this.ticksX[1][0] - this.ticksX[0][0]) / 100 : 0;
      const parts = [];
      for (const mark of this.chart.marks) {
        if (mark.kind === "cloud") {
          const near = this.nearest(p, mark, px, py);
          if (near !== null) parts.push(near);
        } else if (mark.kind === "line" && mark.name) {
          const i = lowerBound(mark.x, at, true);
          if (i >= 0 && mark.y[i] !== null && mark.y[i] !== undefined)
            parts.push(`${mark.name} ${text(mark.y[i], y.unit)}`);
        } else if (mark.kind === "bars") {
          const bin = mark.bins.find((b) => b[0] <= at && at < b[1]);
          if (bin) parts.push(`${mark.name} ${text(bin[3] - bin[2], y.unit)}`);
        } else if (mark.kind === "heat") {
          const cell = mark.cells.find((c) => c[0] <= at && at < c[1] && c[2] <= up && up < c[3]);
          if (cell) parts.push(`${cell[4]} requests`);
        }
      }
      this.output.textContent = [`${exact(at, x.unit, stepX)}, ${text(up, y.unit)}`, ...parts].join(" · ");
    }

    nearest(p, mark, px, py) {
      let best = -1, least = 12 * 12;
      let from = 0, to = mark.x0.length;
      if (mark.cells && !this.chart.x.log) {
        const width = (this.x[1] - this.x[0]) / (p.right - p.dataLeft);
        const at = value(this.chart.x, this.x, (px - p.dataLeft) / (p.right - p.dataLeft));
        from = lowerBound(mark.x1, at - 12 * width);
        to = lowerBound(mark.x0, at + 12 * width);
      }
      for (let i = from; i < to; i++) {
        const dx = (this.px(p, mark.x0[i]) + this.px(p, mark.x1[i])) / 2 - px;
        if (Math.abs(dx) > 12) continue;
        const dy = (this.py(p, mark.y0[i]) + this.py(p, mark.y1[i])) / 2 - py;
        if (dx * dx + dy * dy < least) {
          least = dx * dx + dy * dy;
          best = i;
        }
      }
      if (best < 0) return null;
      const kind = mark.kinds[mark.k[best]].name;
      const middle = (a, b) => (a + b) / 2;
      const up = middle(mark.y0[best], mark.y1[best]);
      const words = up === Infinity ? "no value" : text(up, this.chart.y.unit);
      const count = mark.n ? `${mark.n[best]} of ` : "";
      return `${count}${kind} at ${exact(middle(mark.x0[best], mark.x1[best]), this.chart.x.unit, (this.x[1] - this.x[0]) / 1e4)}: ${words}`;
    }

    // ---- zooming ----
    zoom(x, y) {
      if (x) this.setX(x);
      if (y) this.y = y;
      const whole = this.x === this.whole.x;
      const said = whole ? "everything" : `${text(this.x[0], this.chart.x.unit)} to ${text(this.x[1], this.chart.x.unit)}`;
      document.getElementById("said").textContent = `${this.chart.title}: ${said}`;
      schedule(this);
    }
    // Never further than everything, and never narrower than numbers can tell.
    setX(x) {
      const whole = this.whole.x;
      const limited = [Math.max(x[0], whole[0]), Math.min(x[1], whole[1])];
      const step = Math.max(Math.abs(limited[0]), Math.abs(limited[1])) * 1e-12;
      if (!(limited[1] - limited[0] > step)) return;
      const isWhole = limited[0] === whole[0] && limited[1] === whole[1];
      this.x = isWhole ? whole : limited;
      if (!this.chart.x.time) return;
      for (const other of views) {
        if (other === this || !other.chart.x.time) continue;
        other.x = isWhole ? other.whole.x : limited;
        schedule(other);
      }
    }
    by(factor, move) {
      const axis = this.chart.x, at = (s) => value(axis, this.x, s);
      let from = 0.5 - factor / 2 + move, to = 0.5 + factor / 2 + move;
      if (move !== 0) {
        // Moving stops at the ends, and keeps the width.
        const ends = this.whole.x.map((end) => share(axis, this.x, end));
        const shift = Math.min(Math.max(move, ends[0]), ends[1] - 1);
        [from, to] = [shift, 1 + shift];
      }
      this.zoom([at(from), at(to)], null);
    }
    act(name) {
      if (name === "in") this.by(0.5, 0);
      if (name === "out") this.by(2, 0);
      if (name === "left") this.by(1, -0.25);
      if (name === "right") this.by(1, 0.25);
      if (name === "all") this.zoom(this.whole.x, this.whole.y);
    }

    listen(figure) {
      const canvas = this.canvas;
      let start = null;
      const point = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        start = point(event);
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = point(event);
        this.say(x, y);
        if (!start) return;
        const box = canvas.getBoundingClientRect();
        const style = rubber.style;
        style.left = box.left + Math.min(x, start[0]) + "px";
        style.top = box.top + Math.min(y, start[1]) + "px";
        style.width = Math.abs(x - start[0]) + "px";
        style.height = Math.abs(y - start[1]) + "px";
        rubber.hidden = false;
      });
      canvas.addEventListener("pointerup", (event) => {
        rubber.hidden = true;
        if (!start) return;
        const p = this.place(), [x, y] = point(event), [x0, y0] = start;
        start = null;
        const wide = Math.abs(x - x0) > 6, high = Math.abs(y - y0) > 12;
        const atX = (px) => value(this.chart.x, this.x, Math.min(1, Math.max(0, (px - p.dataLeft) / (p.right - p.dataLeft))));
        const atY = (py) => value(this.chart.y, this.y, Math.min(1, Math.max(0, (p.dataBottom - py) / (p.dataBottom - p.dataTop))));
        // Across only: time alone. Up and down only: values alone. Both: a rectangle.
        this.zoom(
          wide ? [atX(Math.min(x, x0)), atX(Math.max(x, x0))] : null,
          high ? [atY(Math.max(y, y0)), atY(Math.min(y, y0))] : null,
        );
      });
      canvas.addEventListener("pointercancel", () => {
        start = null;
        rubber.hidden = true;
      });
      canvas.addEventListener("pointerleave", () => (this.output.textContent = ""));
      canvas.addEventListener("dblclick", () => this.act("all"));
      canvas.addEventListener("wheel", (event) => {
        // The wheel scrolls the page, unless one asks for more.
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
        event.preventDefault();
        const p = this.place(), [px] = point(event);
        const at = Math.min(1, Math.max(0, (px - p.dataLeft) / (p.right - p.dataLeft)));
        const factor = Math.exp(Math.sign(event.deltaY) * 0.25);
        const of = (s) => value(this.chart.x, this.x, at + (s - at) * factor);
        this.zoom([of(0), of(1)], null);
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const name = { "+": "in", "=": "in", "-": "out", "ArrowLeft": "left", "ArrowRight": "right", "0": "all", "Home": "all" }[event.key];
        if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        this.act(name);
      });
      for (const button of figure.querySelectorAll("[data-do]"))
        button.addEventListener("click", () => this.act(button.dataset.do));
    }
  }

  // The first index whose value is not below; or, of windows, the one that it lies in.
  function lowerBound(values, wanted, isWindow) {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isWindow ? values[middle] <= wanted : values[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return isWindow ? low - 1 : low;
  }

  // What is dragged across a chart.
  const rubber = document.createElement("div");
  rubber.className = "rubber";
  rubber.hidden = true;
  document.body.append(rubber);

  // Each view is drawn once, at the next frame, if it is in sight then.
  const due = new Set();
  function schedule(view) {
    view.isDue = true;
    if (due.size === 0) requestAnimationFrame(() => {
      const now = [...due];
      due.clear();
      now.forEach((v) => v.draw());
    });
    due.add(view);
  }

  // ---- the page -------------------------------------------------------------------------------------
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  function makeViews() {
    views.length = 0;
    charts.forEach((chart, i) => views.push(new View(chart, document.getElementById("chart-" + i))));
  }
  // Charts of the same kind are compared: they share their values' axis.
  function align() {
    for (const view of views) {
      const alike = views.filter((other) => other.chart.name === view.chart.name), isWhole = view.y === view.whole.y;
      view.whole.y = [Math.min(...alike.map((v) => v.whole.y[0])), Math.max(...alike.map((v) => v.whole.y[1]))];
      if (isWhole) view.y = view.whole.y;
    }
  }
  makeViews();
  align();
  const drawAll = () => views.forEach(schedule);
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const view = views.find((v) => v.canvas === entry.target);
      if (!view) continue;
      view.isSeen = entry.isIntersecting;
      if (view.isSeen && view.isDue) view.draw();
    }
  }, { rootMargin: "600px" });
  views.forEach((view) => watcher.observe(view.canvas));
  new ResizeObserver(drawAll).observe(document.body);
  document.getElementById("theme").addEventListener("click", () => {
    setTheme(theme === "dark" ? "light" : "dark");
    drawAll();
  });
  document.getElementById("reset").addEventListener("click", () => views.forEach((view) => view.act("all")));
  let screen = null;
  window.addEventListener("beforeprint", () => {
    screen = theme;
    setTheme("light");
    root.classList.add("printing");
    for (const view of views) {
      view.isSeen = true;
      view.draw();
    }
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("printing");
    setTheme(screen);
    drawAll();
  });

  // ---- a run that goes on ---------------------------------------------------------------------------
  // Replaces what is around a chart: the canvas and its buttons stay, with the focus and what is being dragged.
  function around(figure, fresh) {
    const stays = (of) => of.matches("canvas, .zoom");
    const [canvas, buttons] = [figure.querySelector("canvas"), figure.querySelector(".zoom")];
    canvas.setAttribute("aria-label", fresh.querySelector("canvas").getAttribute("aria-label"));
    for (const old of [...figure.children]) if (!stays(old)) old.remove();
    let before = canvas;
    for (const part of [...fresh.children]) {
      if (part.matches("canvas")) before = buttons;
      else if (part.matches(".zoom")) before = null;
      else figure.insertBefore(part, before);
    }
  }
  // Replaces the text of `old` by that of `fresh`, which has the same charts.
  function patch(old, fresh) {
    if (old.matches("figure")) return around(old, fresh);
    if (old.innerHTML === fresh.innerHTML) return;
    const [before, after] = [[...old.children], [...fresh.children]];
    const isFrame = old.matches("details") || old.querySelector("figure, details");
    if (isFrame && before.length === after.length) before.forEach((part, i) => patch(part, after[i]));
    else old.replaceChildren(...fresh.childNodes);
  }
  function renew(state) {
    document.getElementById("run").textContent = state.status;
    const fresh = document.createElement("div");
    fresh.innerHTML = state.body;
    const frame = (of) => [...of.querySelectorAll(":scope > *, figure")].map((part) => part.tagName + part.id).join();
    const isSame = views.length === charts.length && views.every((view, i) => view.chart.name === charts[i].name);
    if (isSame && frame(live) === frame(fresh)) {
      patch(live, fresh);
      views.forEach((view, i) => view.renew(charts[i]));
    } else {
      const before = [...views], open = [...live.querySelectorAll("details")].map((of) => of.open);
      live.replaceChildren(...fresh.childNodes);
      live.querySelectorAll("details").forEach((of, i) => (of.open = open[i] || false));
      makeViews();
      watcher.disconnect();
      for (const view of views) {
        const old = before.find((of) => of.chart.name === view.chart.name);
        if (old && old.x !== old.whole.x) view.x = old.x;
        if (old && old.y !== old.whole.y) view.y = old.y;
        watcher.observe(view.canvas);
      }
    }
    align();
    drawAll();
  }
  // Fetches the latest state whenever there is one; while that takes long, or nobody looks, others are left out.
  function follow() {
    const run = document.getElementById("run"), source = new EventSource("events");
    let news = null, isBusy = false;
    const fetchNews = async () => {
      if (isBusy) return;
      isBusy = true;
      while (news && (news.last || !document.hidden)) {
        const { last } = news;
        news = null;
        try {
          renew(await take(await fetched(last ? "data?last" : "data")));
          window.iosonar.states++;
        } catch (error) {
          run.textContent = "no connection: " + error.message;
        }
      }
      isBusy = false;
    };
    source.onmessage = (event) => {
      news = JSON.parse(event.data);
      if (news.last) source.close();
      fetchNews();
    };
    source.onerror = () => (run.textContent = "no connection: the run may have ended");
    document.addEventListener("visibilitychange", fetchNews);
    const stop = document.getElementById("stop");
    if (!stop) return;
    // Asked twice: a click too many must not end a run of a night.
    let sure = null;
    stop.addEventListener("click", async () => {
      const words = stop.textContent;
      if (sure === null) {
        stop.textContent = "Click again to stop";
        sure = setTimeout(() => {
          stop.textContent = words;
          sure = null;
        }, 5000);
        return;
      }
      clearTimeout(sure);
      stop.disabled = true;
      const response = await fetch("stop", { method: "POST" });
      stop.textContent = response.ok ? "Stopping" : response.status === 409 ? "Nothing to stop" : "Not allowed";
    });
  }

  root.dataset.ready = "yes";
  // For tests and for the curious.
  window.iosonar = { views, charts, states: 0 };
  if (live) follow();
})().catch((error) => {
  document.getElementById("said").classList.remove("unseen");
  document.getElementById("said").textContent = "The charts cannot be drawn: " + error;
});
