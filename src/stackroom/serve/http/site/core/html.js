import {h} from "preact";
import htm from "../vendor/htm.js";
import {inLanguage} from "./language.js";

export {t} from "./language.js";

export {render} from "preact";
export {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId, useErrorBoundary,
} from "../vendor/hooks.js";
export const html = inLanguage(htm.bind(h));
