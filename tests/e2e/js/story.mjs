// What a JavaScript program does with @kubernetes/client-node: write, read, watch, patch, and an informer that sees it all.
// The kubeconfig is in $KUBECONFIG.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const patienceMs = 60_000;
const kc = new k8s.KubeConfig();
kc.loadFromFile(process.env.KUBECONFIG);
const core = kc.makeApiClient(k8s.CoreV1Api);
const apps = kc.makeApiClient(k8s.AppsV1Api);
const namespace = 'harbour';

async function eventually(what, attempt) {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    if (await attempt()) return;
    if (Date.now() > deadline) throw new Error(`still not so after ${patienceMs / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function refused(code, call) {
  await assert.rejects(call, (error) => {
    assert.equal(error.code, code, `refused with ${error.code}: ${error.body}`);
    return true;
  });
}

async function createReadUpdateDelete() {
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  const made = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'boats' }, data: { red: '1' } } });
  assert.ok(made.metadata.uid);
  await refused(409, () => core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'boats' } } }));
  const read = await core.readNamespacedConfigMap({ namespace, name: 'boats' });
  assert.deepEqual(read.data, { red: '1' });
  read.data.blue = '2';
  const replaced = await core.replaceNamespacedConfigMap({ namespace, name: 'boats', body: read });
  assert.deepEqual(replaced.data, { red: '1', blue: '2' });
  await refused(409, () => core.replaceNamespacedConfigMap({ namespace, name: 'boats', body: made }));
  const list = await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=boats' });
  assert.deepEqual(list.items.map((o) => o.metadata.name), ['boats']);
  await core.deleteNamespacedConfigMap({ namespace, name: 'boats' });
  await refused(404, () => core.readNamespacedConfigMap({ namespace, name: 'boats' }));
}

async function patches() {
  const labels = { app: 'crane' };
  const body = {
    metadata: { name: 'crane' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
    },
  };
  await apps.createNamespacedDeployment({ namespace, body });
  const how = (strategy) => k8s.setHeaderOptions('Content-Type', strategy);
  const name = 'crane';
  const byOperations = await apps.patchNamespacedDeployment(
    { namespace, name, body: [{ op: 'replace', path: '/spec/replicas', value: 3 }] }, how(k8s.PatchStrategy.JsonPatch));
  assert.equal(byOperations.spec.replicas, 3);
  const merged = await apps.patchNamespacedDeployment(
    { namespace, name, body: { metadata: { labels: { tide: 'high' } } } }, how(k8s.PatchStrategy.MergePatch));
  assert.equal(merged.metadata.labels.tide, 'high');
  const strategic = await apps.patchNamespacedDeployment(
    { namespace, name, body: { spec: { template: { spec: { containers: [{ name: 'd', image: 'busybox' }] } } } } },
    how(k8s.PatchStrategy.StrategicMergePatch));
  assert.deepEqual(strategic.spec.template.spec.containers.map((c) => c.name).sort(), ['c', 'd']);
  const apply = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas: 7 } };
  await refused(409, () => apps.patchNamespacedDeployment(
    { namespace, name, body: apply, fieldManager: 'pilot' }, how(k8s.PatchStrategy.ServerSideApply)));
  const applied = await apps.patchNamespacedDeployment(
    { namespace, name, body: apply, fieldManager: 'pilot', force: true }, how(k8s.PatchStrategy.ServerSideApply));
  assert.equal(applied.spec.replicas, 7);
}

async function watches() {
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const seen = [];
  const controller = await new k8s.Watch(kc).watch(
    `/api/v1/namespaces/${namespace}/configmaps`, { resourceVersion: metadata.resourceVersion },
    (type, object) => seen.push(`${type} ${object.metadata.name}`), () => {});
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'buoy' } } });
  await core.deleteNamespacedConfigMap({ namespace, name: 'buoy' });
  await eventually('the watch saw the buoy come and go', () => seen.includes('DELETED buoy'));
  controller.abort();
  assert.deepEqual(seen, ['ADDED buoy', 'DELETED buoy']);
}

async function informs() {
  const seen = [];
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'before', labels: { kind: 'ship' } } } });
  const informer = k8s.makeInformer(
    kc, `/api/v1/namespaces/${namespace}/configmaps`,
    () => core.listNamespacedConfigMap({ namespace, labelSelector: 'kind=ship' }), 'kind=ship');
  for (const event of ['add', 'update', 'delete']) informer.on(event, (object) => seen.push(`${event} ${object.metadata.name}`));
  const errors = [];
  informer.on('error', (error) => errors.push(error));
  await informer.start();
  await eventually('the informer has what was there', () => seen.includes('add before'));
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'ship', labels: { kind: 'ship' } }, data: { sails: '1' } } });
  await eventually('the informer sees an add', () => seen.includes('add ship'));
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'raft', labels: { kind: 'raft' } } } });
  await core.patchNamespacedConfigMap(
    { namespace, name: 'ship', body: { data: { sails: '2' } } }, k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
  await eventually('the informer sees an update', () => seen.includes('update ship'));
  assert.equal(informer.get('ship', namespace).data.sails, '2');
  await core.deleteNamespacedConfigMap({ namespace, name: 'ship' });
  await eventually('the informer sees a delete', () => seen.includes('delete ship'));
  assert.deepEqual(errors, []);
  await informer.stop();
  assert.ok(!seen.some((line) => line.endsWith(' raft')), `the informer saw what it did not select: ${seen}`);
}

for (const chapter of [createReadUpdateDelete, patches, watches, informs]) {
  try {
    await chapter();
    console.log(`   ${chapter.name}`);
  } catch (error) {
    console.error(error);
    console.error(`js story: FAILED: ${chapter.name}`);
    process.exit(1);
  }
}
process.exit(0);
