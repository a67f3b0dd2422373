package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/sources/files"
)

// A kubeconfig is a file of kubectl, with all that is in it.
type kubeconfig map[string]any

// readKubeconfig reads content.
func readKubeconfig(content []byte) (kubeconfig, error) {
	out := kubeconfig{}
	j, err := documents.ToJSONStrict(content, documents.DefaultLimits())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(j, &out); err != nil {
		return nil, err
	}
	if out == nil { // the file is empty
		out = kubeconfig{}
	}
	return out, nil
}

// entries returns a list of k, whose elements have names.
func (k kubeconfig) entries(list string) []any {
	all, _ := k[list].([]any)
	return all
}

// set puts what is called name into a list of k.
func (k kubeconfig) set(list, name string, entry map[string]any) {
	entry["name"] = name
	all := k.entries(list)
	i := slices.IndexFunc(all, func(e any) bool { o, ok := e.(map[string]any); return ok && o["name"] == name })
	if i >= 0 {
		all[i] = entry
	} else {
		all = append(all, entry)
	}
	k[list] = all
}

// first returns the first element of a list of k.
func (k kubeconfig) first(list string) (map[string]any, error) {
	all := k.entries(list)
	if len(all) == 0 {
		return nil, fmt.Errorf("the kubeconfig has no %s", list)
	}
	entry, ok := all[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the kubeconfig has %s in a form that kubectl does not read", list)
	}
	return entry, nil
}

// add puts the cluster and the user of what another kubeconfig leads to into k, called name,
// with a context. The current context stays, if there is one.
func (k kubeconfig) add(name string, other kubeconfig) error {
	for list, kind := range map[string]string{"clusters": "cluster", "users": "user"} {
		entry, err := other.first(list)
		if err != nil {
			return err
		}
		k.set(list, name, map[string]any{kind: entry[kind]})
	}
	k.set("contexts", name, map[string]any{"context": map[string]any{"cluster": name, "user": name}})
	k["apiVersion"], k["kind"] = "v1", "Config"
	if current, _ := k["current-context"].(string); current == "" {
		k["current-context"] = name
	}
	return nil
}

// ownKubeconfig returns the file that kubectl writes to: the first of $KUBECONFIG, or
// ~/.kube/config.
func ownKubeconfig() (string, error) {
	for _, name := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
		if name != "" {
			return name, nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find your kubeconfig, name it in KUBECONFIG: %w", err)
	}
	return filepath.Join(home, ".kube", "config"), nil
}

// mergeKubeconfig adds content, the kubeconfig of c, to the file name with mode 0600. It returns the
// name of the context.
func mergeKubeconfig(name string, c fleet.Key, content fleet.Secret) (string, error) {
	op := "merge the kubeconfig of " + c.String()
	from, err := readKubeconfig(content.Reveal())
	if err != nil {
		return "", fleet.Errorf(fleet.Invalid, op, "that of the cluster: %s", documents.OneLine(err))
	}
	if target, err := filepath.EvalSymlinks(name); err == nil { // a link that one has stays one
		name = target
	}
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	into, err := readKubeconfig(b)
	if err != nil {
		return "", fleet.Errorf(fleet.Invalid, op, "%s: %s: the file is unchanged", name, documents.OneLine(err))
	}
	called := c.Namespace + "-" + c.Name
	if err := into.add(called, from); err != nil {
		return "", fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if b, err = yaml.Marshal(into); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	return called, files.ReplaceFile(name, b, 0o600)
}
