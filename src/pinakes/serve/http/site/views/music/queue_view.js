export {QueueView as default} from "./tracks.js";
