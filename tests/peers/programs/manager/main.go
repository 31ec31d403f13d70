// A controller-runtime manager with a bit of everything that managers use: a reconciler of its own kind with a finalizer and a status,
// owned objects, a cache with selectors, a metadata-only watch, admission and conversion webhooks, and leader election.
//
// For each Cake it keeps a ConfigMap with the order. A Cake that goes leaves a line in the ConfigMap `leftovers`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	finalizer = "bakery.example.com/oven"
	label     = "bakery"
)

func secretsAsMetadata() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return out
}

type baker struct {
	client.Client
	name string // of this process, so that a story sees who worked
}

func (b *baker) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cake := &Cake{}
	if err := b.Get(ctx, request.NamespacedName, cake); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cake.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, b.clear(ctx, cake)
	}
	if controllerutil.AddFinalizer(cake, finalizer) {
		return ctrl.Result{}, b.Update(ctx, cake)
	}
	order := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cake.Name, Namespace: cake.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, b.Client, order, func() error {
		metav1.SetMetaDataLabel(&order.ObjectMeta, label, "order")
		order.Data = map[string]string{"order": fmt.Sprintf("%s %d", cake.Spec.Flavour, cake.Spec.Tiers), "baker": b.name}
		return controllerutil.SetControllerReference(cake, order, b.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := b.List(ctx, secrets, client.InNamespace(cake.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	before := cake.DeepCopyObject().(*Cake)
	cake.Status = CakeStatus{Phase: "Baked", Tiers: cake.Spec.Tiers, Secrets: int32(len(secrets.Items)), ObservedGeneration: cake.Generation}
	if cake.Status == before.Status {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, b.Status().Patch(ctx, cake, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// clear notes the cake in `leftovers`, with server-side apply, and lets it go.
func (b *baker) clear(ctx context.Context, cake *Cake) error {
	if !controllerutil.ContainsFinalizer(cake, finalizer) {
		return nil
	}
	note := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"leftovers"},"data":{` + strconv.Quote(cake.Name) + `:"eaten"}}`)
	target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "leftovers", Namespace: cake.Namespace}}
	patch := client.RawPatch(types.ApplyPatchType, note)
	if err := b.Patch(ctx, target, patch, client.FieldOwner(cake.Name), client.ForceOwnership); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(cake, finalizer)
	if err := b.Update(ctx, cake); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

func (b *baker) cakesOf(ctx context.Context, secret client.Object) []reconcile.Request {
	cakes := &CakeList{}
	if err := b.List(ctx, cakes, client.InNamespace(secret.GetNamespace())); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range cakes.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&cakes.Items[i])})
	}
	return out
}

type hooks struct{}

func (hooks) Default(_ context.Context, cake *Cake) error {
	if cake.Spec.Tiers == 0 {
		cake.Spec.Tiers = 2
	}
	return nil
}

func check(cake *Cake) (admission.Warnings, error) {
	if cake.Spec.Flavour == "tar" {
		return nil, fmt.Errorf("nobody eats tar")
	}
	if cake.Spec.Tiers > 5 {
		return admission.Warnings{"a cake of more than five tiers may fall"}, nil
	}
	return nil, nil
}

func (hooks) ValidateCreate(_ context.Context, cake *Cake) (admission.Warnings, error) {
	return check(cake)
}
func (hooks) ValidateUpdate(_ context.Context, _, cake *Cake) (admission.Warnings, error) {
	return check(cake)
}
func (hooks) ValidateDelete(_ context.Context, cake *Cake) (admission.Warnings, error) {
	if cake.Labels["keep"] == "yes" {
		return nil, fmt.Errorf("this cake is kept")
	}
	return nil, nil
}

func run(name, certificates string, port int) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addCakes(scheme)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	options := ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "bakery",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certificates}),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{label: "order"})},
			secretsAsMetadata(): {Label: labels.SelectorFromSet(labels.Set{label: "recipe"})},
		}},
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	b := &baker{Client: mgr.GetClient(), name: name}
	if err := ctrl.NewControllerManagedBy(mgr).For(&Cake{}).Owns(&corev1.ConfigMap{}).
		WatchesMetadata(secretsAsMetadata(), handler.EnqueueRequestsFromMapFunc(b.cakesOf)).Complete(b); err != nil {
		return err
	}
	if err := builder.WebhookManagedBy(mgr, &Cake{}).WithDefaulter(hooks{}).WithValidator(hooks{}).Complete(); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	name := flag.String("name", "baker", "the name of this process in the orders it writes")
	certificates := flag.String("certificates", "", "the folder with tls.crt and tls.key of the webhooks")
	port := flag.Int("port", 0, "the port of the webhooks")
	flag.Parse() // controller-runtime adds --kubeconfig
	ctrl.SetLogger(zap.New())
	if err := run(*name, *certificates, *port); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}
