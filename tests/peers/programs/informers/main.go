// client-go informers over Protobuf alone, with streaming lists (`sendInitialEvents`). Ends with status 0 when every promise was kept:
//
//   - the informers fill their caches by a watch, not by a list
//
//   - a cache that is filled after a write contains that write
//
//   - afterwards every change arrives once and in order
//
//     informers --kubeconfig FILE --namespace NAME [--objects 2000] [--json]     (--json: with JSON instead of Protobuf)
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// requests counts what went out, by kind of request.
type requests struct {
	lists, streams, watches, http2, json atomic.Int64
}

type counted struct {
	*requests
	next http.RoundTripper
}

func (r counted) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/configmaps") {
		switch {
		case query.Get("watch") == "":
			r.lists.Add(1)
		case query.Get("sendInitialEvents") == "true":
			r.streams.Add(1)
		default:
			r.watches.Add(1)
		}
	}
	answer, err := r.next.RoundTrip(request)
	if err == nil {
		if answer.ProtoMajor == 2 {
			r.http2.Add(1)
		}
		if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
			r.json.Add(1)
		}
	}
	return answer, err
}

type world struct {
	config    *rest.Config
	client    kubernetes.Interface
	seen      *requests
	namespace string
	objects   int
}

func (w *world) write(ctx context.Context, name string, turn int) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "informers"}}, Data: map[string]string{"turn": strconv.Itoa(turn)}}
	if turn == 0 {
		return w.client.CoreV1().ConfigMaps(w.namespace).Create(ctx, object, metav1.CreateOptions{})
	}
	return w.client.CoreV1().ConfigMaps(w.namespace).Update(ctx, object, metav1.UpdateOptions{})
}

func (w *world) fill(ctx context.Context) error {
	for i := range w.objects {
		if _, err := w.write(ctx, fmt.Sprintf("object-%05d", i), 0); err != nil {
			return err
		}
	}
	return nil
}

func synced(stop <-chan struct{}, has cache.InformerSynced) error {
	patience := time.AfterFunc(60*time.Second, func() {
		fmt.Fprintln(os.Stderr, "informers: a cache was not filled after 60 s")
		os.Exit(1)
	})
	defer patience.Stop()
	if !cache.WaitForCacheSync(stop, has) {
		return fmt.Errorf("a cache was not filled")
	}
	return nil
}

// caches fills one cache of each sort of informer and counts what is in it.
func (w *world) caches(ctx context.Context) error {
	selected := func(o *metav1.ListOptions) { o.LabelSelector = "of=informers" }
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	dyn, err := dynamic.NewForConfig(w.config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	sorts := map[string]cache.SharedIndexInformer{
		"typed":    informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace), informers.WithTweakListOptions(selected)).Core().V1().ConfigMaps().Informer(),
		"metadata": metadatainformer.NewFilteredSharedInformerFactory(meta, 0, w.namespace, selected).ForResource(resource).Informer(),
		"dynamic":  dynamicinformer.NewFilteredDynamicSharedInformerFactory(dyn, 0, w.namespace, selected).ForResource(resource).Informer(),
	}
	for name, informer := range sorts {
		lists, streams := w.seen.lists.Load(), w.seen.streams.Load()
		stop := make(chan struct{})
		go informer.Run(stop)
		if err := synced(stop, informer.HasSynced); err != nil {
			return err
		}
		if n := len(informer.GetStore().ListKeys()); n != w.objects {
			return fmt.Errorf("the %s cache has %d objects, not %d", name, n, w.objects)
		}
		if w.seen.lists.Load() != lists || w.seen.streams.Load() != streams+1 {
			return fmt.Errorf("the %s informer listed (%d lists, %d streams)", name, w.seen.lists.Load()-lists, w.seen.streams.Load()-streams)
		}
		fmt.Printf("%s: %d objects by a streaming list\n", name, w.objects)
		close(stop)
	}
	return nil
}

func version(object runtime.Object) uint64 {
	n, _ := strconv.ParseUint(object.(metav1.Object).GetResourceVersion(), 10, 64)
	return n
}

// consistent: a stream that begins after a write has the write before its bookmark, while others write.
func (w *world) consistent(ctx context.Context, rounds int) error {
	busy, done := context.WithCancel(ctx)
	var writers sync.WaitGroup
	defer writers.Wait()
	defer done()
	writers.Go(func() {
		for turn := 1; busy.Err() == nil; turn++ {
			_, _ = w.write(busy, fmt.Sprintf("object-%05d", turn%w.objects), turn)
		}
	})
	yes := true
	for round := range rounds {
		name := fmt.Sprintf("written-%d", round)
		written, err := w.write(ctx, name, 0)
		if err != nil {
			return err
		}
		stream, err := w.client.CoreV1().ConfigMaps(w.namespace).Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		if err != nil {
			return err
		}
		if err := untilBookmark(stream, written, w.objects); err != nil {
			return err
		}
		stream.Stop()
	}
	fmt.Printf("consistent: %d streams had the write before them\n", rounds)
	return nil
}

func untilBookmark(stream watch.Interface, written *corev1.ConfigMap, atLeast int) error {
	found, count := false, 0
	for event := range stream.ResultChan() {
		switch event.Type {
		case watch.Bookmark:
			object := event.Object.(metav1.Object)
			if object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
				return fmt.Errorf("a bookmark without %s ended the initial events", metav1.InitialEventsAnnotationKey)
			}
			if !found || count < atLeast {
				return fmt.Errorf("the initial events are not complete: %d of %d, written one among them: %t", count, atLeast, found)
			}
			if version(event.Object) < version(written) {
				return fmt.Errorf("the bookmark is older than the write before the stream")
			}
			return nil
		case watch.Added:
			count++
			found = found || event.Object.(metav1.Object).GetName() == written.Name
		case watch.Error:
			return fmt.Errorf("the stream ended with %v", event.Object)
		}
	}
	return fmt.Errorf("the stream ended before its bookmark")
}

// follows: after the cache is filled, each change of one object arrives, the newest at last.
func (w *world) follows(ctx context.Context, turns int) error {
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var last atomic.Int64
	var broken atomic.Bool
	latest := make(chan struct{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		object := after.(*corev1.ConfigMap)
		if object.Name != "followed" {
			return
		}
		turn, _ := strconv.Atoi(object.Data["turn"])
		if int64(turn) != last.Add(1) {
			broken.Store(true)
		}
		if turn == turns {
			close(latest)
		}
	}})
	if err != nil {
		return err
	}
	if _, err := w.write(ctx, "followed", 0); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	if err := synced(stop, informer.HasSynced); err != nil {
		return err
	}
	for turn := 1; turn <= turns; turn++ {
		if _, err := w.write(ctx, "followed", turn); err != nil {
			return err
		}
	}
	select {
	case <-latest:
	case <-time.After(60 * time.Second):
		return fmt.Errorf("the last change did not arrive: %d of %d", last.Load(), turns)
	}
	if broken.Load() {
		return fmt.Errorf("changes arrived out of order")
	}
	fmt.Printf("follows: %d changes in order\n", turns)
	return nil
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the server")
	namespace := flag.String("namespace", "default", "where to write")
	objects := flag.Int("objects", 2000, "how many objects to cache")
	asJSON := flag.Bool("json", false, "ask for JSON instead of Protobuf")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, 0
	config.ContentType = protobuf
	if *asJSON {
		config.ContentType = "application/json"
	}
	config.AcceptContentTypes = config.ContentType
	seen := &requests{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{seen, next} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	w := &world{config: config, client: client, seen: seen, namespace: *namespace, objects: *objects}
	for _, step := range []func() error{
		func() error { return w.fill(ctx) },
		func() error { return w.caches(ctx) },
		func() error { return w.consistent(ctx, 50) },
		func() error { return w.follows(ctx, 200) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Printf("http2: %d answers; json: %d answers\n", seen.http2.Load(), seen.json.Load())
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "informers:", err)
		os.Exit(1)
	}
}
