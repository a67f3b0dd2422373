package alerts

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
)

// oldAuthorities gives the cluster authorities that expire in a week.
func oldAuthorities(w *world) {
	key := fleet.Key{Namespace: w.name, Name: "eu-2"}
	made, err := kubeadm.New(nil).NewSecrets(&fleet.Cluster{Key: key}, time.Now().AddDate(0, 0, 7-3650))
	if err != nil {
		w.t.Fatal(err)
	}
	w.secrets(func(store *secrets.File) error {
		for name, data := range made {
			if _, err := store.Create(w.t.Context(), key, name, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// damagedSecret is a Secret that somebody gave to agent "one".
const damagedSecret = "secrets-one/.secrets/people/cloud.age"

func damageSecret(w *world) {
	w.secrets(func(store *secrets.File) error {
		return store.SetSecret(w.t.Context(), fleet.Key{Namespace: "people", Name: "cloud"}, fleet.SecretData{})
	})
	if err := os.WriteFile(filepath.Join(w.dir, damagedSecret), []byte("damaged"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// secrets lets use have the store of agent "one", which does not run yet.
func (w *world) secrets(use func(store *secrets.File) error) {
	w.t.Helper()
	store, err := secrets.OpenFile(w.t.Context(), filepath.Join(w.dir, "secrets-one"), secrets.Options{})
	if err == nil {
		err = errors.Join(use(store), store.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// mkdir makes a folder beside the clone, and returns its path.
func (w *world) mkdir(name string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}
