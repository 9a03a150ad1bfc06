import {h} from "preact";
import htm from "../vendor/htm.js";

export {render} from "preact";
export {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId, useErrorBoundary,
} from "../vendor/hooks.js";
export const html = htm.bind(h);
