package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// read returns the objects in the file at path.
func read(path string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out, err := objects(string(data))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return out, nil
}

func objects(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		o := new(unstructured.Unstructured)
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

// resource returns the endpoint of an object's kind. The plurals of all kinds here are regular.
func resource(o *unstructured.Unstructured) schema.GroupVersionResource {
	k := o.GroupVersionKind()
	return k.GroupVersion().WithResource(strings.ToLower(k.Kind) + "s")
}

// create creates an object, in its namespace if it has one.
func create(ctx context.Context, c dynamic.Interface, o *unstructured.Unstructured) error {
	var in dynamic.ResourceInterface = c.Resource(resource(o))
	if ns := o.GetNamespace(); ns != "" {
		in = c.Resource(resource(o)).Namespace(ns)
	}
	if _, err := in.Create(ctx, o, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cannot create %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// An address is where the API server reaches the webhooks of a manager.
type address struct {
	host string // with its port
	ca   []byte // PEM
}

// client returns the configuration of a webhook at path.
func (a address) client(path string) map[string]any {
	return map[string]any{"url": "https://" + a.host + path, "caBundle": base64.StdEncoding.EncodeToString(a.ca)}
}

// installKinds creates the CRDs of a manager, as its kustomization makes them: with labels,
// and converted by the manager.
func installKinds(ctx context.Context, c dynamic.Interface, manifests string, at address) error {
	var k struct {
		Resources []string
		Labels    []struct{ Pairs map[string]string }
	}
	dir := filepath.Join(manifests, "crd")
	data, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, &k); err != nil {
		return err
	}
	for _, name := range k.Resources {
		kinds, err := read(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			labels := make(map[string]string)
			for _, l := range k.Labels {
				for key, value := range l.Pairs {
					labels[key] = value
				}
			}
			kind.SetLabels(labels)
			conversion := map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"}, "clientConfig": at.client("/convert"),
			}}
			if err := unstructured.SetNestedMap(kind.Object, conversion, "spec", "conversion"); err != nil {
				return err
			}
			if err := create(ctx, c, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// established waits until the API server serves all kinds.
func established(ctx context.Context, c dynamic.Interface) error {
	return until(ctx, func() (bool, error) {
		kinds, err := c.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(kinds.Items, func(o unstructured.Unstructured) bool {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			return !slices.ContainsFunc(conditions, func(condition any) bool {
				m, _ := condition.(map[string]any)
				return m["type"] == "Established" && m["status"] == "True"
			})
		}), nil
	})
}

// installWebhooks creates the webhook configurations of a manager.
func installWebhooks(ctx context.Context, c dynamic.Interface, p program, at address) error {
	configurations, err := read(filepath.Join(p.manifests, "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	for _, o := range configurations {
		o.SetName(p.name + "-" + o.GetName())
		hooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, hook := range hooks {
			m, _ := hook.(map[string]any)
			path, _, err := unstructured.NestedString(m, "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			m["clientConfig"] = at.client(path)
		}
		if err := unstructured.SetNestedSlice(o.Object, hooks, "webhooks"); err != nil {
			return err
		}
		if err := create(ctx, c, o); err != nil {
			return err
		}
	}
	return nil
}
