export {Player as default} from "./tracks.js";
