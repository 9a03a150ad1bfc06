// Media keys, and what the system shows of what plays.
const STEP_S = 10;
const session = navigator.mediaSession;

export function connectSystem({resume, pause, next, previous, seek}, playback) {
  if (!session) return;
  const skip = (seconds) => seek(playback.get().position + seconds);
  const actions = {
    play: resume,
    pause,
    stop: pause,
    nexttrack: next,
    previoustrack: previous,
    seekto: ({seekTime}) => seek(seekTime),
    seekforward: ({seekOffset}) => skip(seekOffset || STEP_S),
    seekbackward: ({seekOffset}) => skip(-(seekOffset || STEP_S)),
  };
  for (const [name, work] of Object.entries(actions)) session.setActionHandler(name, work);
  playback.subscribe(({isPlaying, length, position}) => {
    session.playbackState = isPlaying ? "playing" : "paused";
    if (length > 0) session.setPositionState?.({duration: length, position: Math.min(position, length)});
  });
}

export function showOnSystem({title, artists, album, image}) {
  if (!session) return;
  session.metadata = new MediaMetadata({
    title,
    artist: artists.map(({name}) => name).join(", "),
    album: album?.name ?? "",
    artwork: image ? [{src: image}] : [],
  });
}
