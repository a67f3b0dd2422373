package secrets

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// Secrets that people give for the use of providers, such as credentials of a
// cloud, have a namespace and a name, as Secrets of Kubernetes have. They are
// kept apart from those of clusters, so that no name can be both.

// givenFolder holds them in a File: <namespace>/<name>.age. No namespace has a
// name like it.
const givenFolder = ".secrets"

// givenName is where the content is in such a file.
const givenName fleet.SecretName = "given"

// givenKey is where a File keeps the Secret k.
func givenKey(k fleet.Key) fleet.Key {
	return fleet.Key{Namespace: givenFolder + "/" + k.Namespace, Name: k.Name}
}

// subject names what is kept at c, for messages.
func subject(c fleet.Key) string {
	if ns, ok := strings.CutPrefix(c.Namespace, givenFolder+"/"); ok {
		return "Secret " + ns + "/" + c.Name
	}
	return "the secrets of cluster " + c.String()
}

// GetSecret returns the Secret k, or an error of kind NotFound.
func (f *File) GetSecret(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
	if err := checkSecret(k); err != nil {
		return nil, err
	}
	all, err := f.read(givenKey(k))
	if err != nil {
		return nil, err
	}
	d, ok := all[givenName]
	if !ok {
		return nil, notGiven(k)
	}
	return clone(d), nil
}

// SetSecret stores the Secret k, whatever was there.
func (f *File) SetSecret(ctx context.Context, k fleet.Key, d fleet.SecretData) error {
	if err := checkSecret(k); err != nil {
		return err
	}
	_, err := f.put(ctx, givenKey(k), givenName, d, true)
	return err
}

// DeleteSecret removes the Secret k. Nothing there is success.
func (f *File) DeleteSecret(ctx context.Context, k fleet.Key) error {
	if err := checkSecret(k); err != nil {
		return err
	}
	return f.remove(ctx, givenKey(k))
}

// ListSecrets returns the keys of all Secrets, sorted.
func (f *File) ListSecrets(context.Context) ([]fleet.Key, error) {
	files, err := fs.Glob(f.root.FS(), givenFolder+"/*/*"+fileSuffix)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unavailable, "list "+f.String(), "%w", err)
	}
	var keys []fleet.Key
	for _, file := range files {
		k := fleet.Key{Namespace: path.Base(path.Dir(file)), Name: strings.TrimSuffix(path.Base(file), fileSuffix)}
		if checkSecret(k) == nil {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	return keys, nil
}

// FilterSecrets returns those of keys that ListSecrets would return, sorted.
func (f *File) FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error) {
	all, err := f.ListSecrets(ctx)
	return slices.DeleteFunc(all, func(k fleet.Key) bool { return !slices.Contains(keys, k) }), err
}

// Recipient returns the public key that f encrypts for, and files in Git should
// be encrypted for.
func (f *File) Recipient() string { return fmt.Sprint(f.identities.first) }

// checkSecret refuses what is not the name of a Secret.
func checkSecret(k fleet.Key) error {
	if checkKey(k) != nil {
		return fleet.Errorf(fleet.Invalid, "use a Secret", "%q is not NAMESPACE/NAME", k.String())
	}
	return nil
}

func notGiven(k fleet.Key) error {
	return fleet.Errorf(fleet.NotFound, fmt.Sprintf("get Secret %s", k), "it is not in the secret store")
}
