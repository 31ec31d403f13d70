// A controller whose permissions are on single fields, as client-go makes its requests: Get of a DaemonSet, then UpdateStatus with the
// whole object. Ends with status 0 when the answer is the DaemonSet that it asked for, with the number that it wrote.
//
//	status-writer --kubeconfig FILE --namespace NAME --name NAME --ready NUMBER [--protobuf]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func run(ctx context.Context) error {
	kubeconfig := flag.String("kubeconfig", "", "")
	namespace := flag.String("namespace", "default", "")
	name := flag.String("name", "", "")
	ready := flag.Int("ready", 0, "")
	protobuf := flag.Bool("protobuf", false, "")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	if *protobuf {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = config.ContentType
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	sets := client.AppsV1().DaemonSets(*namespace)
	before, err := sets.Get(ctx, *name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	before.Status.NumberReady = int32(*ready)
	before.Status.ObservedGeneration = before.Generation
	after, err := sets.UpdateStatus(ctx, before, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return check(before, after)
}

func check(before, after *appsv1.DaemonSet) error {
	switch {
	case after.Name != before.Name || after.UID != before.UID:
		return fmt.Errorf("the answer is another object: %s %s", after.Name, after.UID)
	case after.ResourceVersion == "" || after.ResourceVersion == before.ResourceVersion:
		return fmt.Errorf("the answer has the resourceVersion %q", after.ResourceVersion)
	case after.Status.NumberReady != before.Status.NumberReady:
		return fmt.Errorf("the answer has numberReady %d", after.Status.NumberReady)
	}
	fmt.Printf("written: %s at %s, %d ready, %d containers\n", after.Name, after.ResourceVersion, after.Status.NumberReady, len(after.Spec.Template.Spec.Containers))
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}
