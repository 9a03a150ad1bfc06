// Tools that play music, and keep likes and playlists; offered where a catalogue has audio.
import {createPlaylist, listMusic, setLike} from "../music/library.js";
import {current, enqueue, next, pause, play, previous, queue, resume} from "../music/queue.js";

const IDS = {type: "array", items: {type: "string"}, description: "Ids of tracks, albums or artists, as in results of tools"};

const now = () => {
  const track = current();
  return {said: track ? `In the queue: ${queue.get().tracks.length}. Now: ${track.title}` : "The queue is empty."};
};

const after = (act) => async () => {
  await act();
  return now();
};

export function musicTools(cards) {
  const {name: catalogue} = cards.find((card) => card.has_audio);
  const bare = (id) => (id.startsWith(`${catalogue}/`) ? id.slice(catalogue.length + 1) : id);
  const itemOf = async (kind, id) => (await listMusic(kind, {id: bare(id), catalogue})).item;
  return [
    {
      name: "ui.play",
      description: "Play tracks, albums or artists now; without ids go on with what was paused.",
      properties: {ids: IDS},
      async run({ids = []}) {
        if (!ids.length) return after(resume)();
        const tracks = await tracksOf(ids.map(bare), catalogue);
        if (!tracks.some((one) => one.playable)) throw new Error("none of these has a file to play");
        play(tracks);
        return now();
      },
    },
    {
      name: "ui.enqueue",
      description: "Add tracks, albums or artists to the end of the queue.",
      properties: {ids: IDS},
      required: ["ids"],
      async run({ids}) {
        enqueue(await tracksOf(ids.map(bare), catalogue));
        return now();
      },
    },
    {name: "ui.pause", description: "Pause the music.", run: after(pause)},
    {name: "ui.next", description: "Go on to the next track.", run: after(next)},
    {name: "ui.previous", description: "Go back to the track before.", run: after(previous)},
    {
      name: "ui.likeAlbum",
      description: "Like an album for the user, who is asked first.",
      properties: {id: {type: "string"}},
      required: ["id"],
      isWrite: true,
      preview: async ({id}) => ({like: (await itemOf("album", id)).name}),
      async run({id}) {
        const album = await itemOf("album", id);
        await setLike(album.id, true);
        return {said: `Liked: ${album.name}`};
      },
    },
    {
      name: "ui.createPlaylist",
      description: "Make a playlist of tracks for the user, who is asked first.",
      properties: {name: {type: "string"}, tracks: {...IDS, description: "Ids of tracks"}},
      required: ["name", "tracks"],
      isWrite: true,
      preview: async ({name, tracks}) => ({playlist: name, tracks: (await tracksOf(tracks.map(bare), catalogue)).map((one) => one.name)}),
      async run({name, tracks}) {
        const chosen = await tracksOf(tracks.map(bare), catalogue);
        await createPlaylist(name, {tracks: chosen.map((one) => one.id)});
        return {said: `Made the playlist ${name}: ${chosen.length} tracks`};
      },
    },
  ];
}

async function tracksOf(ids, catalogue) {
  const found = await Promise.all(ids.slice(0, 50).map((id) => tracksOfOne(id, catalogue)));
  return found.flat();
}

// An id does not say what it is of, so each kind is tried; the server's answer for the last one is the error.
async function tracksOfOne(id, catalogue) {
  try {
    return [(await listMusic("track", {id, catalogue})).item];
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  const album = await listMusic("album", {id, catalogue, limit: 200}).catch(() => null);
  return (album ?? (await listMusic("artist", {id, catalogue, limit: 200}))).tracks.items;
}
