// Points on a canvas: one buffer and one draw call of WebGL2, or a plain canvas where there is none.
// A point has eight bytes: its place (two int16), its colour, whether it is lit, and two that fill up. Those that are lit come
// last, so that they lie above. Where the processor has to draw, of many points a sample is drawn.

const SIDE = 128, MOST_BY_PROCESSOR = 30000, CELLS = 192, MARGIN = 1.06;
const VERTEX = `#version 300 es
layout(location=0) in vec2 place;
layout(location=1) in vec2 look;
uniform vec4 camera;
uniform float size, litSize, strength;
uniform vec3 palette[9];
uniform vec3 grey;
out vec4 colour;
void main() {
  bool isLit = look.y > 0.5;
  gl_Position = vec4((place - camera.xy) * camera.zw, 0, 1);
  bool isGrey = litSize > 0.0 && !isLit;
  gl_PointSize = isGrey ? size * 0.8 : max(size, litSize);
  colour = vec4(isGrey ? grey : palette[int(look.x + 0.5)], isGrey ? 0.3 : strength);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
out vec4 shown;
void main() {
  vec2 away = gl_PointCoord - 0.5;
  float alpha = colour.a * smoothstep(0.25, 0.18, dot(away, away));
  shown = vec4(colour.rgb * alpha, alpha);
}`;

// `draw` is given the camera with the sizes of points (`litSize` 0: none is lit, and none turns grey), and the colours.
export function createPoints(canvas, places) {
  const count = places.length / 2, bytes = new Uint8Array(count * 8), view = new Int16Array(bytes.buffer);
  let codes = null, lit = null;
  const fill = () => {
    let at = 0;
    for (const isLit of [0, 1]) {
      const some = lit ? lit.reduce((sum, one) => sum + (one === isLit), 0) : count;
      const step = points.isSoft ? Math.ceil(some / MOST_BY_PROCESSOR) : 1;
      for (let row = 0, nth = 0; row < count; row++) {
        if ((lit ? lit[row] : 0) !== isLit || nth++ % step) continue;
        view[4 * at] = places[2 * row];
        view[4 * at + 1] = places[2 * row + 1];
        bytes[8 * at + 4] = codes ? codes[row] : 0;
        bytes[8 * at++ + 5] = isLit;
      }
    }
    Object.assign(points, {isDirty: true, drawn: at});
  };
  const points = {
    count, isDirty: true, drawn: 0,
    colour(given) { codes = given; fill(); },
    light(given) { lit = given; fill(); },
  };
  const gl = canvas.getContext("webgl2", {antialias: false, depth: false, powerPreference: "low-power"});
  return Object.assign(points, {kind: gl ? "webgl2" : "canvas", isSoft: !gl || isByProcessor(gl)}, gl ? inWebGL(gl, points, bytes) : onCanvas(canvas, points, bytes));
}

function isByProcessor(gl) {
  const named = gl.getExtension("WEBGL_debug_renderer_info");
  return /swiftshader|llvmpipe|software|basic render/iu.test(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}

// How close points lie, as a small picture to draw below them, with a margin around the map.
export function drawDensity(places, rows, [red, green, blue]) {
  const count = rows?.length ?? places.length / 2, step = (value) => Math.floor((value / 32768 / MARGIN + 1) / 2 * CELLS);
  let sums = new Float32Array(CELLS * CELLS);
  for (let at = 0; at < count; at++) sums[step(places[2 * (rows ? rows[at] : at) + 1]) * CELLS + step(places[2 * (rows ? rows[at] : at)])]++;
  for (const by of [1, CELLS, 1, CELLS]) sums = sums.map((sum, at) => ((sums[at - by] ?? 0) + 2 * sum + (sums[at + by] ?? 0)) / 4);
  const most = sums.reduce((one, other) => Math.max(one, other), 1), picture = Object.assign(document.createElement("canvas"), {width: CELLS, height: CELLS});
  const context = picture.getContext("2d"), image = context.createImageData(CELLS, CELLS);
  sums.forEach((sum, at) => image.data.set([red, green, blue, 170 * Math.sqrt(sum / most)], 4 * at));
  context.putImageData(image, 0, 0);
  return {picture, margin: MARGIN};
}

function inWebGL(gl, points, bytes) {
  let uniform, isLost = false;
  const start = () => {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    uniform = Object.fromEntries(["camera", "size", "litSize", "strength", "palette", "grey"].map((name) => [name, gl.getUniformLocation(program, name)]));
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.SHORT, true, 8, 0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 2, gl.UNSIGNED_BYTE, false, 8, 4);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    points.isDirty = true;
  };
  start();
  gl.canvas.addEventListener("webglcontextlost", (event) => { isLost = true; event.preventDefault(); });
  gl.canvas.addEventListener("webglcontextrestored", () => { isLost = false; start(); });
  return {
    draw({x, y, scale, width, height, size, litSize, strength}, {palette, grey}) {
      if (isLost) return;
      if (points.isDirty) gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
      points.isDirty = false;
      gl.viewport(0, 0, width, height);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform4f(uniform.camera, x, y, 2 * scale / width, -2 * scale / height);
      gl.uniform1f(uniform.size, size);
      gl.uniform1f(uniform.litSize, litSize);
      gl.uniform1f(uniform.strength, strength);
      gl.uniform3fv(uniform.palette, palette.flat().map((one) => one / 255));
      gl.uniform3fv(uniform.grey, grey.map((one) => one / 255));
      gl.drawArrays(gl.POINTS, 0, points.drawn);
    },
  };
}

function onCanvas(canvas, points, bytes) {
  const context = canvas.getContext("2d"), places = new Int16Array(bytes.buffer);
  return {
    draw({x, y, scale, width, height, size: usual, litSize, strength}, {palette, grey}) {
      context.clearRect(0, 0, width, height);
      for (const isLit of litSize ? [0, 1] : [0]) {
        const isGrey = litSize && !isLit, size = isLit ? litSize : usual;
        context.globalAlpha = isGrey ? .3 : strength;
        for (let code = 0; code < palette.length; code++) {
          context.fillStyle = `rgb(${(isGrey ? grey : palette[code]).join(" ")})`;
          for (let row = 0; row < points.drawn; row++) {
            if (bytes[8 * row + 4] !== code || (litSize && bytes[8 * row + 5] !== isLit)) continue;
            const across = (places[4 * row] / 32767 - x) * scale + width / 2, down = (places[4 * row + 1] / 32767 - y) * scale + height / 2;
            if (across > -size && down > -size && across < width + size && down < height + size) context.fillRect(across - size / 2, down - size / 2, size, size);
          }
        }
      }
    },
  };
}

// Finds points by place: rows sorted by the squares of a grid.
export function createFinder(places) {
  const count = places.length / 2, ends = new Int32Array(SIDE * SIDE + 1), rows = new Int32Array(count), square = new Int32Array(count);
  const step = (value) => Math.max(0, Math.min(SIDE - 1, Math.floor((value + 32768) / 65536 * SIDE)));
  for (let row = 0; row < count; row++) ends[(square[row] = step(places[2 * row + 1]) * SIDE + step(places[2 * row])) + 1]++;
  for (let one = 1; one < ends.length; one++) ends[one] += ends[one - 1];
  const next = ends.slice();
  for (let row = 0; row < count; row++) rows[next[square[row]]++] = row;
  // Rows within a rectangle of the map, in units from −1 to 1; it ends when there are more than wanted.
  const within = (left, top, right, bottom, most = Infinity, isWanted = () => true) => {
    const found = [];
    for (let down = step(top * 32767); down <= step(bottom * 32767); down++) {
      for (let at = ends[down * SIDE + step(left * 32767)]; at < ends[down * SIDE + step(right * 32767) + 1]; at++) {
        const x = places[2 * rows[at]] / 32767, y = places[2 * rows[at] + 1] / 32767;
        if (x >= left && x <= right && y >= top && y <= bottom && isWanted(rows[at]) && found.push(rows[at]) > most) return found;
      }
    }
    return found;
  };
  const distance = (row, x, y) => Math.hypot(places[2 * row] / 32767 - x, places[2 * row + 1] / 32767 - y);
  // The nearest first; those that are preferred before others.
  const nearest = (x, y, radius, most = 1, isPreferred = () => false) => {
    const near = within(x - radius, y - radius, x + radius, y + radius).map((row) => [row, distance(row, x, y)]).filter(([, far]) => far <= radius * 1.5);
    return near.sort((one, other) => isPreferred(other[0]) - isPreferred(one[0]) || one[1] - other[1]).slice(0, most).map(([row]) => row);
  };
  return {within, nearest};
}
