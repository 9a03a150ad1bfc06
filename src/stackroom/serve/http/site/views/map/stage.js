// The stage of a map: camera, pointers, areas, labels, and drawing when something has changed.
import {createFinder, createPoints, drawDensity} from "./points.js";

const LIGHT = {
  palette: [[120, 132, 129], [31, 119, 180], [214, 96, 20], [34, 139, 74], [196, 43, 60], [125, 82, 178], [140, 92, 30], [201, 76, 160], [0, 138, 150]],
  ramp: [[120, 132, 129], [68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 153, 110], [110, 170, 40], [190, 140, 10]],
  grey: [176, 187, 184],
};
const DARK = {
  palette: [[140, 156, 152], [102, 178, 255], [255, 160, 92], [108, 214, 140], [255, 122, 130], [190, 160, 255], [214, 178, 120], [255, 150, 216], [84, 214, 222]],
  ramp: [[140, 156, 152], [110, 110, 200], [80, 140, 210], [60, 180, 190], [90, 210, 140], [170, 220, 90], [250, 220, 80]],
  grey: [74, 92, 88],
};
const NEAREST_ZOOM = .7, FARTHEST_ZOOM = 150, REACH = 12, AROUND = 12, DRAG = 4, MARGIN = .92, FEW_LIT = 800, EDGE = 200;
const FEW_IN_SIGHT = 60, LONGEST_TITLE = 36, CORNER_PX = 7, MOST_CORNERS = 40, FADED = 5;
const LEVEL_ZOOM = [0, 1.6, 3.2, 6.4];

// The colour of the value of this number in a legend, light and dark.
export function dotOf(place, isOrdered) {
  const [light, dark] = [LIGHT, DARK].map((one) => `rgb(${(isOrdered ? one.ramp : one.palette)[place].join(" ")})`);
  return `light-dark(${light}, ${dark})`;
}

// `at` is a place of the map with a zoom, as an address has it; `nameOf` the title of a row, where it is known. The stage's `mode` is what
// a drag does: move the map, or choose a "box" or a "lasso".
export function createStage(box, {places, labels, at, nameOf, onPoint, onOpen, onMove, onArea}) {
  const sheet = box.firstElementChild, [under, canvas, over] = sheet.children, text = over.getContext("2d"), shade = under.getContext("2d");
  const points = createPoints(canvas, places), finder = createFinder(places), dark = matchMedia("(prefers-color-scheme: dark)");
  const camera = {x: 0, y: 0, zoom: 1}, drawn = {zoom: 0}, pointers = new Map(), stop = new AbortController();
  let width = 1, height = 1, ratio = 1, frame = 0, isDirty = true, lit = null, litSet = null, from = null, isOrdered = false, chosen = {zoom: 0, labels: []}, moved = 0, pinched = 0, told, area = [], drawing = null, density = null;
  box.dataset.renderer = points.kind;

  const scale = () => camera.zoom * Math.min(width, height) / 2 * MARGIN;
  const placed = (x, y) => [(x - camera.x) * scale() + width / 2, (y - camera.y) * scale() + height / 2];
  const toScreen = (row) => placed(places[2 * row] / 32767, places[2 * row + 1] / 32767);
  const toMap = (x, y) => [(x - width / 2) / scale() + camera.x, (y - height / 2) / scale() + camera.y];
  const writtenOf = (corners) => corners.flatMap(([x, y]) => toMap(x, y)).map((one) => Math.round(32767 * Math.max(-1, Math.min(1, one)))).join("_");
  const written = () => (camera.zoom === 1 && !camera.x && !camera.y ? null : `${Math.round(camera.x * 32767)}_${Math.round(camera.y * 32767)}_${+camera.zoom.toPrecision(6)}`);
  const redraw = () => { isDirty = true; show(); }, show = () => { frame ||= requestAnimationFrame(drawOrSlide); };

  // A drawing is larger than what is seen of it: while one pans, it is moved as it is, until its edge comes near.
  function drawOrSlide() {
    frame = 0;
    let across = (drawn.x - camera.x) * scale(), down = (drawn.y - camera.y) * scale();
    if (isDirty || drawn.zoom !== camera.zoom || Math.max(Math.abs(across), Math.abs(down)) > EDGE) {
      draw();
      across = down = 0;
    }
    sheet.style.transform = `translate(${across}px, ${down}px)`;
    box.dataset.frames = Number(box.dataset.frames ?? 0) + 1;
  }

  function draw() {
    isDirty = false;
    Object.assign(drawn, camera);
    const scheme = dark.matches ? DARK : LIGHT;
    density ??= drawDensity(places, lit, scheme.palette[0]);
    shade.setTransform(ratio, 0, 0, ratio, EDGE * ratio, EDGE * ratio);
    shade.clearRect(-EDGE, -EDGE, width + 2 * EDGE, height + 2 * EDGE);
    shade.globalAlpha = Math.max(0, 1 - Math.log2(Math.max(1, camera.zoom)) / FADED);
    const side = 2 * density.margin * scale();
    shade.drawImage(density.picture, ...placed(-density.margin, -density.margin), side, side);
    const size = Math.min(18, Math.max(2.2, 2.6 * Math.sqrt(camera.zoom) * Math.max(1, Math.min(3, 60 / Math.sqrt(points.count)))));
    // The more lie over each other, the paler is one alone.
    const strength = lit || points.count < 3000 ? .85 : Math.min(.85, .5 + .1 * Math.log2(Math.max(1, camera.zoom)));
    points.draw({x: camera.x, y: camera.y, scale: scale() * ratio, width: canvas.width, height: canvas.height, strength, size: size * ratio,
      litSize: lit ? (size * 1.2 + (lit.length < FEW_LIT && points.count > 2000 ? 3 : 0)) * ratio : 0}, {palette: isOrdered ? scheme.ramp : scheme.palette, grey: scheme.grey});
    drawOver();
  }

  function drawOver() {
    const style = getComputedStyle(box);
    text.setTransform(ratio, 0, 0, ratio, EDGE * ratio, EDGE * ratio);
    text.clearRect(-EDGE, -EDGE, width + 2 * EDGE, height + 2 * EDGE);
    const accent = style.getPropertyValue("--accent");
    if (from !== null) drawLines(accent);
    drawArea(drawing ?? area.map(([x, y]) => placed(x / 32767, y / 32767)), accent);
    if (chosen.zoom !== camera.zoom) chosen = {zoom: camera.zoom, labels: chooseLabels()};
    Object.assign(text, {textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4, strokeStyle: style.getPropertyValue("--paper"), fillStyle: style.getPropertyValue(lit ? "--quiet" : "--ink")});
    const taken = [];
    for (const one of chosen.labels) {
      const [x, y] = placed(one.x / 32767, one.y / 32767);
      taken.push([x - one.half, x + one.half, y]);
      if (x < -one.half - EDGE || y < -EDGE || x > width + one.half + EDGE || y > height + EDGE) continue;
      text.font = one.font;
      text.strokeText(one.text, x, y);
      text.fillText(one.text, x, y);
    }
    drawTitles(taken, style.getPropertyValue("--ink"));
  }

  // Where few points are in sight each has its title, as far as there is room.
  function drawTitles(taken, ink) {
    const seen = inSight(FEW_IN_SIGHT);
    if (seen.length > FEW_IN_SIGHT) return;
    Object.assign(text, {font: "12px system-ui, sans-serif", textAlign: "left", fillStyle: ink, lineWidth: 3});
    for (const row of seen) {
      const name = nameOf(row) ?? "", title = name.length > LONGEST_TITLE ? `${name.slice(0, LONGEST_TITLE)}…` : name, [x, y] = toScreen(row);
      const left = x + 10, right = left + text.measureText(title).width;
      if (!title || taken.some((one) => one[0] < right && one[1] > left && Math.abs(one[2] - y) < 16)) continue;
      taken.push([left, right, y]);
      text.strokeText(title, left, y);
      text.fillText(title, left, y);
    }
  }

  function drawArea(corners, colour) {
    text.beginPath();
    for (const [x, y] of corners) text.lineTo(x, y);
    text.closePath();
    Object.assign(text, {strokeStyle: colour, fillStyle: colour, lineWidth: 1.5, globalAlpha: .08});
    text.fill();
    text.globalAlpha = 1;
    text.stroke();
  }

  function drawLines(colour) {
    const [x, y] = toScreen(from);
    Object.assign(text, {strokeStyle: colour, lineWidth: 1, globalAlpha: .5});
    text.beginPath();
    for (const row of lit) {
      text.moveTo(x, y);
      text.lineTo(...toScreen(row));
    }
    text.stroke();
    text.globalAlpha = 1;
    text.lineWidth = 2.5;
    text.beginPath();
    text.arc(x, y, 9, 0, 7);
    text.stroke();
  }

  // Coarse labels before fine ones, and none over another; it depends on the zoom alone, so that none flickers while one pans.
  function chooseLabels() {
    const taken = [];
    return labels.filter((one) => {
      if (camera.zoom < LEVEL_ZOOM[one.level]) return false;
      one.font = `${one.level ? 550 : 650} ${one.level ? 12 : 14}px system-ui, sans-serif`;
      text.font = one.font;
      one.half = text.measureText(one.text).width / 2 + 5;
      const x = one.x / 32767 * scale(), y = one.y / 32767 * scale();
      if (taken.some((other) => Math.abs(other.x - x) < other.half + one.half && Math.abs(other.y - y) < 19)) return false;
      return taken.push({x, y, half: one.half});
    });
  }

  function zoomAt(x, y, factor) {
    const [mapX, mapY] = toMap(x, y), former = scale();
    camera.zoom = Math.min(FARTHEST_ZOOM, Math.max(NEAREST_ZOOM, camera.zoom * factor));
    const ratioOf = former / scale();
    move(mapX + (camera.x - mapX) * ratioOf, mapY + (camera.y - mapY) * ratioOf);
  }

  function move(x, y) {
    camera.x = Math.max(-1, Math.min(1, x));
    camera.y = Math.max(-1, Math.min(1, y));
    onPoint(null);
    show();
    tellSight();
  }

  function tellSight() {
    clearTimeout(told);
    told = setTimeout(() => {
      const rows = inSight(), away = (row) => Math.hypot(places[2 * row] / 32767 - camera.x, places[2 * row + 1] / 32767 - camera.y);
      const seen = Float64Array.from(rows, away), reach = seen.slice().sort()[100] ?? Infinity;
      const near = rows.map((row, at) => [seen[at], row]).filter(([far]) => far < reach).sort((one, other) => one[0] - other[0]).map(([, row]) => row);
      onMove({rows: near, total: rows.length, isLit: Boolean(lit), drawn: points.drawn, at: written()});
    }, 150);
  }

  const inSight = (most) => finder.within(...toMap(0, 0), ...toMap(width, height), most, litSet ? (row) => litSet.has(row) : undefined);

  // An area as an address has it: two corners of a box, or as many of a lasso as tell its form.
  function areaOf(path) {
    const every = Math.ceil(path.length / MOST_CORNERS), corners = stage.mode === "lasso" ? path.filter((_, nth) => nth % every === 0) : [path[0], path[2]];
    return writtenOf(corners);
  }

  function extend(x, y) {
    const [[left, top]] = drawing, [endX, endY] = drawing.at(-1);
    if (stage.mode !== "lasso") drawing = [[left, top], [x, top], [x, y], [left, y]];
    else if (Math.hypot(x - endX, y - endY) > CORNER_PX) drawing.push([x, y]);
    redraw();
  }

  const find = (x, y, most = 1) => finder.nearest(...toMap(x, y), REACH / scale(), most, (row) => Boolean(litSet?.has(row)));
  const placeOf = (event) => { const edge = box.getBoundingClientRect(); return [event.clientX - edge.left, event.clientY - edge.top]; };

  function pointAt(x, y) {
    const [row] = find(x, y);
    box.classList.toggle("on-point", row !== undefined);
    if (row === undefined) return onPoint(null);
    const [left, top] = toScreen(row);
    return onPoint({row, x: left, y: top, side: left > width / 2 ? "left" : "right", around: [row, ...finder.nearest(...toMap(x, y), 4 * REACH / scale(), AROUND)]});
  }

  const on = (name, work) => box.addEventListener(name, work, {signal: stop.signal, passive: false});
  on("pointerdown", (event) => {
    if (event.target.closest("button") || event.button) return;
    try { box.setPointerCapture(event.pointerId); } catch { /* a pointer that was made by a program */ }
    pointers.set(event.pointerId, placeOf(event));
    drawing = (stage.mode || event.shiftKey) && pointers.size === 1 ? [placeOf(event)] : null;
    moved = pinched = 0;
  });
  on("pointermove", (event) => {
    const [x, y] = placeOf(event), before = pointers.get(event.pointerId);
    if (!before) return event.pointerType !== "touch" && !event.target.closest("button") && pointAt(x, y);
    moved += Math.hypot(x - before[0], y - before[1]);
    pointers.set(event.pointerId, [x, y]);
    const [one, other] = pointers.values();
    if (drawing && !other) return extend(x, y);
    if (other) {
      const apart = Math.hypot(one[0] - other[0], one[1] - other[1]);
      if (pinched) zoomAt((one[0] + other[0]) / 2, (one[1] + other[1]) / 2, apart / pinched);
      pinched = apart;
    } else if (moved > DRAG) {
      move(camera.x - (x - before[0]) / scale(), camera.y - (y - before[1]) / scale());
    }
    return undefined;
  });
  on("pointerup", (event) => {
    const was = pointers.delete(event.pointerId), [row] = find(...placeOf(event)), path = drawing;
    drawing = null;
    if (path?.length > 2 && moved > DRAG) return onArea(areaOf(path));
    if (was && moved <= DRAG && !pinched && row !== undefined) onOpen(row);
    return undefined;
  });
  on("pointercancel", (event) => { drawing = null; pointers.delete(event.pointerId); });
  on("pointerleave", () => onPoint(null));
  on("dblclick", (event) => !event.target.closest("button") && zoomAt(...placeOf(event), 2));
  on("wheel", (event) => {
    event.preventDefault();
    zoomAt(...placeOf(event), 1.0016 ** -(event.deltaMode ? 33 * event.deltaY : event.deltaY));
  });
  dark.addEventListener("change", () => { density = null; redraw(); }, {signal: stop.signal});
  // An open record makes the map of a phone smaller, before or after its neighbours are lit. A bar of the browser that comes and goes takes nobody away from what they read.
  const reveal = () => from !== null && matchMedia("(max-width: 46rem)").matches && box.scrollIntoView();
  const resized = new ResizeObserver(() => {
    const before = height;
    ({width, height} = box.getBoundingClientRect());
    ratio = Math.min(2, devicePixelRatio || 1);
    for (const one of [under, canvas, over]) Object.assign(one, {width: Math.round((width + 2 * EDGE) * ratio), height: Math.round((height + 2 * EDGE) * ratio)});
    chosen.zoom = 0;
    redraw();
    tellSight();
    if (Math.abs(height - before) > before / 4) reveal();
  });
  resized.observe(box);

  const stage = {
    mode: "",
    redraw,
    area(written) {
      const numbers = (written ?? "").split("_").map(Number), [left, top, right, bottom] = numbers;
      area = numbers.length === 4 ? [[left, top], [right, top], [right, bottom], [left, bottom]] : Array.from({length: numbers.length >> 1}, (_, nth) => numbers.slice(2 * nth, 2 * nth + 2));
      redraw();
    },
    chooseSight: () => onArea(writtenOf([[0, 0], [width, height]])),
    show(wanted) {
      if (wanted === written()) return;
      const [x, y, zoom] = (wanted ?? "0_0_1").split("_").map(Number);
      if (![x, y, zoom].every(Number.isFinite)) return;
      camera.zoom = Math.min(FARTHEST_ZOOM, Math.max(NEAREST_ZOOM, zoom));
      move(x / 32767, y / 32767);
    },
    colour(codes, ordered) { isOrdered = Boolean(ordered); points.colour(codes); redraw(); },
    light(rows, center) {
      [lit, litSet, from] = [rows, rows && new Set(rows), center ?? null];
      points.light(rows && rows.reduce((flags, row) => { flags[row] = 1; return flags; }, new Uint8Array(points.count)));
      density = null;
      redraw();
      tellSight();
      if (from === null) return;
      move(places[2 * from] / 32767, places[2 * from + 1] / 32767);
      reveal();
    },
    zoom: (factor) => zoomAt(width / 2, height / 2, factor),
    pan: (x, y) => move(camera.x + x * width / 5 / scale(), camera.y + y * height / 5 / scale()),
    fit() { camera.zoom = 1; move(0, 0); },
    openMiddle() {
      const [row] = finder.nearest(camera.x, camera.y, height / 3 / scale(), 1, (one) => Boolean(litSet?.has(one)));
      if (row !== undefined) onOpen(row);
    },
    end() { stop.abort(); resized.disconnect(); cancelAnimationFrame(frame); clearTimeout(told); },
  };
  stage.show(at);
  return stage;
}
