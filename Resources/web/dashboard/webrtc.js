// One view as H.264 by WebRTC (WHEP): the lowest latency, if datagrams get through.
import { ask } from "./api.js";

/**
 * How long the first picture, and each further one, may take, in milliseconds. The service repeats one each
 * second.
 */
const PATIENCE = 3000;
/** The pause after a failure, in milliseconds. */
const PAUSE = 60_000;

const canPlay = () =>
  typeof RTCPeerConnection === "function" && "requestVideoFrameCallback" in HTMLVideoElement.prototype;

/** Plays the wanted view in a session, which ends when another is wanted. */
export class LivePeer {
  #onFrame;
  #onChange;
  #path = null;
  #session = null;
  #notBefore = 0;

  /** `onFrame(video)` for each picture; `onChange()` when it begins or stops playing. */
  constructor(onFrame, onChange) {
    this.#onFrame = onFrame;
    this.#onChange = onChange;
  }

  /** Whether pictures are arriving. Until then, another transport must be used. */
  get isPlaying() { return this.#session?.isPlaying ?? false; }

  /** Sets the path for the offer, or null for no session. */
  want(path) {
    if (path === this.#path && (this.#session || performance.now() < this.#notBefore)) return;
    this.#end();
    this.#path = path;
    if (path !== null && canPlay() && performance.now() >= this.#notBefore) this.#begin(path);
  }

  async #begin(path) {
    const connection = new RTCPeerConnection();
    const video = Object.assign(document.createElement("video"), {
      muted: true, autoplay: true, playsInline: true, disableRemotePlayback: true, className: "player",
    });
    const session = this.#session = { connection, video, isPlaying: false, watch: 0 };
    const expect = (reason) => {
      clearTimeout(session.watch);
      session.watch = setTimeout(() => this.#fail(session, reason, PAUSE), PATIENCE);
    };
    const drawn = () => {
      if (session !== this.#session) return;
      expect("pictures stopped");
      const isFirst = !session.isPlaying;
      session.isPlaying = true;
      if (isFirst) this.#onChange();
      this.#onFrame(video);
      video.requestVideoFrameCallback(drawn);
    };
    // Browsers only play a video that is in the page.
    document.body.append(video);
    video.requestVideoFrameCallback(drawn);
    connection.addTransceiver("video", { direction: "recvonly" });
    connection.addEventListener("track", ({ track }) => { video.srcObject = new MediaStream([track]); });
    expect("no picture arrived");
    try {
      await connection.setLocalDescription();
      const answer = await ask(path, { method: "POST", type: "application/sdp", body: connection.localDescription.sdp });
      const sdp = await answer.text();
      if (session !== this.#session) return;
      await connection.setRemoteDescription({ type: "answer", sdp });
    } catch (error) {
      // A service without the libraries, or a browser without H.264, will not have them in a minute.
      this.#fail(session, error.message, error.status === 501 || error.status === 406 ? Infinity : PAUSE);
    }
  }

  #fail(session, reason, pause) {
    if (session !== this.#session) return;
    console.info(`WebRTC: ${reason}`);
    this.#notBefore = performance.now() + pause;
    this.#end();
    this.#onChange();
  }

  #end() {
    if (this.#session) this.#close(this.#session);
    this.#session = null;
  }

  /** The service notices the end of a connected session, and drops one that never connected. */
  #close({ connection, video, watch }) {
    clearTimeout(watch);
    connection.close();
    video.srcObject = null;
    video.remove();
  }
}
