// Two issuers of tokens over TLS, told what to do by JSON lines on standard input; each gets one JSON line back.
//
//   provider   oidc-provider: a real OpenID provider; ID tokens come from its token endpoint
//   plain      a discovery document and a key set; tokens are signed with jose, as wrongly as one likes
//
// Usage: node issuers.mjs CERTIFICATE KEY PROVIDER_PORT PLAIN_PORT
import https from 'node:https';
import fs from 'node:fs';
import readline from 'node:readline';
import * as jose from 'jose';
import Provider from 'oidc-provider';

const [certificate, key, providerPort, plainPort] = process.argv.slice(2);
const tls = { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) };
const urls = { provider: `https://127.0.0.1:${providerPort}`, plain: `https://127.0.0.1:${plainPort}` };
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'];
const grant = 'urn:cardea:test:subject';

// One private JWK per algorithm.
async function makeKeys(prefix) {
  const keys = [];
  for (const alg of algorithms) {
    const { privateKey } = await jose.generateKeyPair(alg, { extractable: true });
    keys.push({ ...await jose.exportJWK(privateKey), alg, use: 'sig', kid: `${prefix}-${alg}` });
  }
  return keys;
}
function publicPart({ d, p, q, dp, dq, qi, ...rest }) { return rest; }

class Site {
  constructor(port) { this.port = port; this.fetches = {}; }
  start(handler) {
    this.handler = handler;
    if (this.server) return Promise.resolve();
    this.server = https.createServer(tls, (request, response) => {
      const path = request.url.split('?')[0];
      this.fetches[path] = (this.fetches[path] ?? 0) + 1;
      this.handler(request, response);
    });
    return new Promise((done, failed) => this.server.once('error', failed).listen(this.port, '127.0.0.1', done));
  }
  stop() {
    const server = this.server;
    this.server = null;
    if (!server) return Promise.resolve();
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  }
}

const sites = { provider: new Site(providerPort), plain: new Site(plainPort) };
const keys = { provider: await makeKeys('p1'), plain: await makeKeys('k1') };
let generation = 1;

// `redirect`: where a public client, `cardea-ui`, gets its codes; people sign in with any name. Without `cors` web pages get no answers.
function makeProvider({ redirect, cors = true } = {}) {
  const clients = algorithms.map((alg) => ({
    client_id: alg, client_secret: 'secret', grant_types: [grant], redirect_uris: [], response_types: [],
    token_endpoint_auth_method: 'client_secret_post', id_token_signed_response_alg: alg,
  }));
  if (redirect) clients.push({ client_id: 'cardea-ui', redirect_uris: [redirect], grant_types: ['authorization_code'], response_types: ['code'], token_endpoint_auth_method: 'none' });
  const provider = new Provider(urls.provider, {
    jwks: { keys: keys.provider }, clients, cookies: { keys: ['k'] },
    enabledJWA: { idTokenSigningAlgValues: algorithms },
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], profile: ['groups', 'email', 'email_verified'] },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, groups: ['dev', 'ops'], email: `${id}@example.com`, email_verified: true }) }),
    features: { devInteractions: { enabled: Boolean(redirect) } },
    clientBasedCORS: () => cors,
  });
  provider.registerGrantType(grant, async (ctx, next) => {
    const account = await provider.Account.findAccount(ctx, ctx.oidc.params.subject);
    const token = new provider.IdToken(await account.claims(), { ctx });
    token.scope = 'openid profile';
    ctx.body = { token_type: 'Bearer', access_token: 'unused', expires_in: 60, id_token: await token.issue({ use: 'idtoken' }) };
    await next();
  }, ['subject']);
  provider.on('server_error', (ctx, error) => console.error(error));
  return provider.callback();
}

const plainPaths = {
  '/.well-known/openid-configuration': () => ({ issuer: urls.plain, jwks_uri: `${urls.plain}/keys` }),
  '/elsewhere/discovery': () => ({ issuer: 'https://unreachable.example', jwks_uri: `${urls.plain}/keys` }),
  '/keys': () => ({ keys: [...strange, ...keys.plain.map(publicPart)] }),
};
let strange = [{ kty: 'OKP', crv: 'Ed25519', kid: 'not-ours', x: 'AA' }, { kty: 'what', kid: 'is-this' }];
const served = {};  // more paths: text as it is
function plain(request, response) {
  const path = request.url.split('?')[0];
  const text = served[path] ?? (plainPaths[path] ? JSON.stringify(plainPaths[path]()) : null);
  response.writeHead(text === null ? 404 : 200, { 'content-type': 'application/json' }).end(text ?? 'not found');
}

async function post(url, form) {
  return new Promise((done, failed) => {
    const body = new URLSearchParams(form).toString();
    const request = https.request(url, { method: 'POST', rejectUnauthorized: false, headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length } }, (response) => {
      let text = '';
      response.on('data', (part) => { text += part; }).on('end', () => done(JSON.parse(text)));
    });
    request.on('error', failed).end(body);
  });
}

const commands = {
  async start({ site, ...provider }) { await sites[site].start(site === 'provider' ? makeProvider(provider) : plain); },
  async stop({ site }) { await sites[site].stop(); },
  async rotate({ site }) {
    generation += 1;
    keys[site] = await makeKeys(`g${generation}`);
    if (sites[site].server) await sites[site].start(site === 'provider' ? makeProvider() : plain);
  },
  // An ID token as the provider itself makes it; the client's id is the algorithm's name.
  async id_token({ alg, subject }) {
    const answer = await post(`${urls.provider}/token`, { grant_type: grant, client_id: alg, client_secret: 'secret', subject });
    if (!answer.id_token) throw new Error(JSON.stringify(answer));
    return answer.id_token;
  },
  // A token signed with jose. `key_of` names the site whose key signs; header and claims are taken as given.
  async sign({ alg, claims, header = {}, key_of = 'plain' }) {
    const jwk = keys[key_of].find((k) => k.alg === alg);
    return new jose.SignJWT(claims).setProtectedHeader({ alg, kid: jwk.kid, ...header }).sign(await jose.importJWK(jwk, alg));
  },
  // The public RSA key used as an HMAC secret, an unsigned token, EdDSA, a key of the sender's own.
  async attack({ kind, claims }) {
    const rsa = keys.plain.find((k) => k.alg === 'RS256');
    if (kind === 'hmac') {
      const pem = await jose.exportSPKI(await jose.importJWK(publicPart(rsa), 'RS256'));
      return new jose.SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: rsa.kid }).sign(new TextEncoder().encode(pem));
    }
    if (kind === 'none') return new jose.UnsecuredJWT(claims).encode();
    const own = await jose.generateKeyPair(kind === 'eddsa' ? 'EdDSA' : 'RS256', { extractable: true });
    if (kind === 'eddsa') return new jose.SignJWT(claims).setProtectedHeader({ alg: 'EdDSA' }).sign(own.privateKey);
    const header = { alg: 'RS256', ...(kind === 'jwk' ? { jwk: await jose.exportJWK(own.publicKey) } : { kid: rsa.kid }) };
    if (kind === 'several') {
      const general = new jose.GeneralSign(new TextEncoder().encode(JSON.stringify(claims)));
      general.addSignature(await jose.importJWK(rsa, 'RS256')).setProtectedHeader({ alg: 'RS256', kid: rsa.kid });
      general.addSignature(own.privateKey).setProtectedHeader({ alg: 'RS256' });
      return JSON.stringify(await general.sign());
    }
    return new jose.SignJWT(claims).setProtectedHeader(header).sign(own.privateKey);
  },
  async only_known_keys() { strange = []; },
  async serve({ path, text }) { served[path] = text; },
  async fetches({ site, path }) { return sites[site].fetches[path] ?? 0; },
};

process.stdout.write(`${JSON.stringify({ result: urls })}\n`);
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { cmd, ...args } = JSON.parse(line);
  try {
    process.stdout.write(`${JSON.stringify({ result: await commands[cmd](args) ?? null })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: String(error?.stack ?? error) })}\n`);
  }
}
process.exit(0);
