package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// contents are the secrets of one cluster.
type contents map[fleet.SecretName]fleet.SecretData

// document is the form of contents in a file.
type document struct {
	Version int                                    `json:"version"`
	Secrets map[fleet.SecretName]map[string][]byte `json:"secrets"`
}

const documentVersion = 1

func (c contents) encode() ([]byte, error) {
	d := document{Version: documentVersion, Secrets: make(map[fleet.SecretName]map[string][]byte, len(c))}
	for name, data := range c {
		d.Secrets[name] = data.Reveal()
	}
	return json.Marshal(d)
}

// decode reads what encode wrote. Its errors hold nothing of the content.
func decode(data []byte) (contents, error) {
	var d document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return nil, errors.New("its content is not that of a secret file")
	}
	if d.Version != documentVersion {
		return nil, fmt.Errorf("its version is %d, this program knows %d", d.Version, documentVersion)
	}
	c := make(contents, len(d.Secrets))
	for name, keys := range d.Secrets {
		c[name] = fleet.NewSecretData(keys)
	}
	return c, nil
}

// clone returns a copy that may be changed and given away. The values are
// shared: the bytes of a secret never change.
func clone(d fleet.SecretData) fleet.SecretData { return maps.Clone(d) }

// checkKey refuses what is not the name of a cluster, and so cannot lead out of
// the folder.
func checkKey(c fleet.Key) error {
	if len(validation.IsDNS1123Label(c.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(c.Name)) > 0 {
		return fleet.Errorf(fleet.Invalid, "use the secrets of a cluster", "%q is not NAMESPACE/NAME", c.String())
	}
	return nil
}

func notFound(c fleet.Key, name fleet.SecretName) error {
	return fleet.Errorf(fleet.NotFound, fmt.Sprintf("get secret %s of cluster %s", name, c), "it is not stored")
}
