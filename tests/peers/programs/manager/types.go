package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

var (
	stored = schema.GroupVersion{Group: "bakery.example.com", Version: "v1"}
	newer  = schema.GroupVersion{Group: "bakery.example.com", Version: "v2"}
)

// Cake is the stored version, v1.
type Cake struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CakeSpec   `json:"spec,omitempty"`
	Status            CakeStatus `json:"status,omitempty"`
}

type CakeSpec struct {
	Flavour string `json:"flavour,omitempty"`
	Tiers   int32  `json:"tiers,omitempty"`
}

type CakeStatus struct {
	Phase              string `json:"phase,omitempty"`
	Tiers              int32  `json:"tiers,omitempty"`
	Secrets            int32  `json:"secrets,omitempty"` // how many labelled Secrets the metadata cache holds
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

type CakeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cake `json:"items"`
}

// NewerCake is v2: the flavour is called taste.
type NewerCake struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              NewerCakeSpec `json:"spec,omitempty"`
	Status            CakeStatus    `json:"status,omitempty"`
}

type NewerCakeSpec struct {
	Taste string `json:"taste,omitempty"`
	Tiers int32  `json:"tiers,omitempty"`
}

type NewerCakeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NewerCake `json:"items"`
}

func (c *Cake) Hub() {}

func (c *NewerCake) ConvertTo(hub conversion.Hub) error {
	to := hub.(*Cake)
	c.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	to.Spec, to.Status = CakeSpec{Flavour: c.Spec.Taste, Tiers: c.Spec.Tiers}, c.Status
	return nil
}

func (c *NewerCake) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Cake)
	from.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec, c.Status = NewerCakeSpec{Taste: from.Spec.Flavour, Tiers: from.Spec.Tiers}, from.Status
	return nil
}

func (c *Cake) DeepCopyObject() runtime.Object {
	out := *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (c *NewerCake) DeepCopyObject() runtime.Object {
	out := *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (l *CakeList) DeepCopyObject() runtime.Object {
	out := &CakeList{TypeMeta: l.TypeMeta, Items: make([]Cake, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Cake)
	}
	return out
}

func (l *NewerCakeList) DeepCopyObject() runtime.Object {
	out := &NewerCakeList{TypeMeta: l.TypeMeta, Items: make([]NewerCake, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*NewerCake)
	}
	return out
}

func addCakes(scheme *runtime.Scheme) {
	scheme.AddKnownTypeWithName(stored.WithKind("Cake"), &Cake{})
	scheme.AddKnownTypeWithName(stored.WithKind("CakeList"), &CakeList{})
	scheme.AddKnownTypeWithName(newer.WithKind("Cake"), &NewerCake{})
	scheme.AddKnownTypeWithName(newer.WithKind("CakeList"), &NewerCakeList{})
	metav1.AddToGroupVersion(scheme, stored)
	metav1.AddToGroupVersion(scheme, newer)
}
