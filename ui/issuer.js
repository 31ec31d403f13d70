// Signing in at an OpenID issuer: authorization code with PKCE, in a window of its own. State, nonce and verifier stay in the memory of the
// page that waits, so nothing is stored; the other window hands over what the issuer answered, and is done.
import {h, replace} from "./dom.js";
import {notice} from "./parts.js";

const CHANNEL = "cardea-sign-in";
const back = () => `${location.origin}/ui/`;

class SignInFailure extends Error {
  constructor(title, message) {
    super(message);
    this.title = title;
  }
}

// [{issuer, clientId, scopes}]: none where the server says so, or cannot be asked.
export async function placesToSignIn() {
  try {
    const answer = await fetch("sign-in.json", {cache: "no-store", credentials: "omit", redirect: "error"});
    return answer.ok ? (await answer.json()).issuers ?? [] : [];
  } catch {
    return [];
  }
}

const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const fresh = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
export const challengeOf = async (verifier) => base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));

// What a token says. Whether it is true is for the server to find out.
export function claimsOf(token) {
  try {
    const bytes = atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
  } catch {
    throw new SignInFailure("The issuer sent no ID token", "Its answer has no token that this page can read.");
  }
}

async function fromIssuer(url, what, options = {}) {
  let answer;
  try {
    answer = await fetch(url, {credentials: "omit", cache: "no-store", redirect: "error", ...options});
  } catch {
    throw new SignInFailure("The issuer does not answer this page",
                            `${what} (${url}) cannot be reached from ${location.origin}: the issuer is down, or does not allow this origin (CORS). Ask whoever runs it to allow the origin, or sign in with a token.`);
  }
  const document = await answer.json().catch(() => null);
  if (answer.ok && document) return document;
  throw new SignInFailure("The issuer refused", `${what}: ${document?.error_description ?? document?.error ?? `status ${answer.status}`}`);
}

function httpsUrl(text) {
  try {
    const url = new URL(text);
    if (url.protocol === "https:") return url;
  } catch {
    // no URL at all
  }
  throw new SignInFailure("The issuer is not safe", `It names an endpoint that is no address with TLS: ${text}`);
}

async function discover(issuer) {
  const found = await fromIssuer(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, "Its description");
  if (found.issuer !== issuer) throw new SignInFailure("This is another issuer", `It calls itself ${found.issuer}, and the server trusts ${issuer}.`);
  const places = [found.authorization_endpoint, found.token_endpoint].map(httpsUrl);
  if (places[1].origin !== new URL(issuer).origin)
    throw new SignInFailure("The issuer's tokens come from elsewhere", `Its token endpoint is at ${places[1].origin}, and this page asks ${new URL(issuer).origin} alone. Sign in with a token.`);
  const methods = found.code_challenge_methods_supported;
  if (methods && !methods.includes("S256")) throw new SignInFailure("The issuer is too old", "It does not support PKCE with S256.");
  return {authorize: places[0], token: places[1]};
}

// The answer with this state. Others belong to other pages, or to nobody.
function answerTo(state, signal) {
  return new Promise((resolve, reject) => {
    const channel = new BroadcastChannel(CHANNEL);
    const end = (settle, value) => {
      channel.close();
      settle(value);
    };
    signal.addEventListener("abort", () => end(reject, new DOMException("cancelled", "AbortError")));
    channel.onmessage = ({data}) => {
      if (typeof data?.answer !== "string") return;
      const answer = new URLSearchParams(data.answer);
      if (answer.get("state") !== state) return;
      channel.postMessage({taken: state});
      end(resolve, answer);
    };
  });
}

// The ID token. Call it from a click: it opens a window.
export async function signInAt({issuer, clientId, scopes}, signal) {
  const opened = open("", "_blank", "popup,width=560,height=720");
  if (!opened) throw new SignInFailure("No window was opened", "The browser blocks it. Allow windows of this page, or sign in with a token.");
  try {
    const places = await discover(issuer);
    const state = fresh(), nonce = fresh(), verifier = fresh();
    const wanted = {response_type: "code", client_id: clientId, redirect_uri: back(), scope: scopes.join(" "), state, nonce,
                    code_challenge: await challengeOf(verifier), code_challenge_method: "S256"};
    for (const [key, value] of Object.entries(wanted)) places.authorize.searchParams.set(key, value);
    opened.location.replace(places.authorize);
    const answer = await answerTo(state, signal);
    if (answer.has("error")) throw new SignInFailure("The issuer refused", answer.get("error_description") ?? answer.get("error"));
    if (answer.has("iss") && answer.get("iss") !== issuer) throw new SignInFailure("This is another issuer", `The answer comes from ${answer.get("iss")}, and ${issuer} was asked.`);
    const tokens = await fromIssuer(places.token.href, "Its token endpoint", {method: "POST", signal, body: new URLSearchParams(
      {grant_type: "authorization_code", code: answer.get("code") ?? "", redirect_uri: back(), client_id: clientId, code_verifier: verifier})});
    const claims = claimsOf(tokens.id_token ?? "");
    if (claims.nonce !== nonce) throw new SignInFailure("This token is of another sign-in", "Its nonce is not the one that this page chose. It is not used.");
    if (claims.iss !== issuer || ![claims.aud].flat().includes(clientId)) throw new SignInFailure("This token is for somebody else", `It is for ${[claims.aud].flat().join(", ")}, from ${claims.iss}.`);
    return tokens.id_token;
  } catch (error) {
    opened.close();
    throw error;
  }
}

// In the window that an issuer sent back here: passes the answer on, and is no page of its own. False: nothing was sent.
export function handOver(root) {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("state") || !(answer.has("code") || answer.has("error"))) return false;
  history.replaceState(null, "", location.pathname);
  document.title = "Sign in – Cardea";
  const show = (tone, title, text) => replace(root, h("main", {class: "sign-in"}, h("h1", {}, "Sign in"), notice(tone, title, text), h("p", {}, h("a", {href: back()}, "Open the page here"))));
  const channel = new BroadcastChannel(CHANNEL);
  const alone = setTimeout(() => show("bad", "Nobody waits for this answer", "It does not belong to a sign-in that is going on in this browser, or the page that began it was closed. It was not used."), 3000);
  channel.onmessage = ({data}) => {
    if (data?.taken !== answer.get("state")) return;
    clearTimeout(alone);
    channel.close();
    show("good", "Done", "You can close this window.");
    close();
  };
  show("good", "One moment", "The answer is handed over.");
  channel.postMessage({answer: answer.toString()});
  return true;
}
