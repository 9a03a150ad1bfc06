import {h} from "preact";
import htm from "../vendor/htm.js";

export {render, Fragment, createContext} from "preact";
export {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useReducer, useContext, useId, useErrorBoundary,
} from "../vendor/hooks.js";
export const html = htm.bind(h);
