// What a JavaScript program does to act for somebody else with @kubernetes/client-node. The kubeconfig, whose user has
// `as`, is in $KUBECONFIG; $EXPECTED is who the server should see.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const kc = new k8s.KubeConfig();
kc.loadFromFile(process.env.KUBECONFIG);
const review = { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' } };
const who = (await kc.makeApiClient(k8s.AuthenticationV1Api).createSelfSubjectReview(review)).status.userInfo;
assert.equal(who.username, process.env.EXPECTED);
assert.deepEqual(who.groups, ['system:authenticated']);

// The setting by itself, and what it may not do.
kc.getCurrentUser().impersonateUser = 'alice';
const core = kc.makeApiClient(k8s.CoreV1Api);
await assert.rejects(() => core.listNamespacedPod({ namespace: 'default' }), (error) => {
  assert.equal(error.code, 403);
  assert.match(JSON.parse(error.body).message, /users.authentication.k8s.io "alice" is forbidden: User "carol" cannot impersonate:user-info/);
  return true;
});
console.log('impersonation.mjs: passed');
