// The face of a record or a catalogue: its picture, or else a cover that is drawn from its catalogue, kind and title, always the same.
import {html, useState} from "../core/html.js";

const SHAPES = [
  (n) => `M${20 + n % 60} ${n % 41}a34 34 0 1 0 1 0zM${88 - n % 50} ${72 - n % 23}a22 22 0 1 0 1 0z`,
  (n) => `M-10 ${40 + n % 50}Q30 ${n % 60} 60 ${60 + n % 30}T120 ${30 + n % 40}V140H-10z`,
  (n) => `M-9 ${n % 30}L120 ${50 - n % 40}v16L-9 ${n % 30 + 16}zM-9 ${50 + n % 30}L120 ${90 - n % 40}v34L-9 ${80 + n % 30}z`,
  (n) => `M${n % 40} 130 ${50 + n % 30} ${8 + n % 30} 120 130zM-30 130 ${14 + n % 30} ${50 + n % 30} 80 130z`,
  (n) => `M${n % 60} ${n % 50}l34 34l-34 34l-34-34zM${40 + n % 50} ${60 + n % 30}l34 34l-34 34l-34-34z`,
];

function numberOf(text) {
  let sum = 7;
  for (const letter of text ?? "") sum = (sum * 31 + letter.codePointAt(0)) % 100003;
  return sum;
}

// The hue tells catalogues apart, the shape kinds, and where both stand, records.
export function Face({image, title = "", kind = "", catalogue = "", isRound, className = ""}) {
  const [isGone, setGone] = useState(null), classes = `face ${isRound ? "round" : ""} ${className}`;
  if (image && isGone !== image) return html`<img class=${classes} src=${image} alt="" loading="lazy" decoding="async" onError=${() => setGone(image)} />`;
  const hue = numberOf(catalogue) * 47 % 360, place = numberOf(title), turn = (hue + place % 46 - 23 + 360) % 360;
  const colour = (light, more = 0) => `hsl(${turn + more} 42% ${light}%)`, letter = /[\p{L}\p{N}]/u.exec(title)?.[0] ?? "";
  return html`<svg class=${`${classes} drawn`} viewBox="0 0 100 120" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
    <rect width="100" height="120" fill=${colour(28 + place % 9)} />
    <path fill=${colour(48, 24)} opacity=".55" d=${SHAPES[numberOf(catalogue + kind) % SHAPES.length](place)} />
    <text x="50" y="62" text-anchor="middle" dominant-baseline="central" fill="#fff">${letter.toUpperCase()}</text></svg>`;
}
