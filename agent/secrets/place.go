package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/files"
)

// A store says which one it is, so that two agents of one name that keep secrets
// in two stores are not taken for one: see fleet.Owner.

// placeFile holds what a File is called. It is made on first use.
const placeFile = ".place"

// Place names the folder. A copy of it, and each process that uses it, has the same name.
func (f *File) Place(ctx context.Context) (string, error) {
	op := "name the folder of secrets " + f.root.Name()
	release, err := lock(ctx, f.root, locksFolder+"/place")
	if err != nil {
		return "", fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	defer release()
	b, err := f.root.ReadFile(placeFile)
	if errors.Is(err, fs.ErrNotExist) {
		b = []byte(rand.Text())
		err = files.Replace(f.root, placeFile, append(b, '\n'), 0o600)
	}
	name := strings.TrimSpace(string(b))
	if err == nil && (name == "" || strings.ContainsAny(name, " \n")) {
		err = fmt.Errorf("%s holds no name: remove it, and start the agent with --take-over", placeFile)
	}
	if err != nil {
		return "", fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	return "folder/" + name, nil
}

// Place returns a name of namespace in this cluster that no other has, in no
// cluster: the UID that its API server gave it is part of it. Empty is the
// namespace of the pod, or that of the kubeconfig. It takes the right to get
// that namespace.
func (k *Kubernetes) Place(ctx context.Context, namespace string) (string, error) {
	if namespace == "" {
		namespace = k.namespace
	}
	ns := &corev1.Namespace{}
	if err := k.api.Get().Resource("namespaces").Name(namespace).Do(ctx).Into(ns); err != nil {
		return "", k.failed("get namespace "+namespace+", whose UID tells this agent from others of its name", err)
	}
	if ns.UID == "" {
		return "", fleet.Errorf(fleet.Unknown, "get namespace "+namespace, "it has no UID")
	}
	return fmt.Sprintf("kubernetes/%s/%s", ns.UID, namespace), nil
}

// Location is Place: two stores with the same are one.
func (f *File) Location(ctx context.Context) (string, error) { return f.Place(ctx) }

// Location names the cluster: two stores with the same are one. It takes the right
// to get the namespace kube-system.
func (k *Kubernetes) Location(ctx context.Context) (string, error) {
	return k.Place(ctx, metav1.NamespaceSystem)
}

// Within reports whether these Secrets are in the cluster c itself: its authority
// is the one that their API server is trusted by, or, while it is rotated, one of
// the two.
func (k *Kubernetes) Within(ctx context.Context, c fleet.Key) (bool, error) {
	d, err := k.Get(ctx, c, fleet.ClusterCA)
	if fleet.KindOf(err) == fleet.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for block, rest := pem.Decode(d[fleet.TLSCertKey].Reveal()); block != nil; block, rest = pem.Decode(rest) {
		if bytes.Contains(k.authority, bytes.TrimSpace(pem.EncodeToMemory(block))) {
			return true, nil
		}
	}
	return false, nil
}
