package escrow

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"

	"fairlead.dev/fleet"
)

// An item is what one file holds.
type item struct {
	kind    string
	key     fleet.Key
	secrets map[fleet.SecretName]fleet.SecretData // of a Secret that people gave: one, called given
}

const given fleet.SecretName = "given"

// document is the form of an item in its file.
type document struct {
	Version int                                    `json:"version"`
	Fleet   fleet.ID                               `json:"fleet"`
	Kind    string                                 `json:"kind"`
	Name    string                                 `json:"name"`
	Secrets map[fleet.SecretName]map[string][]byte `json:"secrets"`
}

const documentVersion = 1

// encode returns the one form of i.
func (i item) encode(id fleet.ID) ([]byte, error) {
	d := document{Version: documentVersion, Fleet: id, Kind: i.kind, Name: i.key.String(), Secrets: make(map[fleet.SecretName]map[string][]byte)}
	for name, data := range i.secrets {
		d.Secrets[name] = data.Reveal()
	}
	return json.Marshal(d)
}

// decode reads what encode wrote, for e of that fleet. Its errors hold nothing
// of the content.
func decode(plain []byte, id fleet.ID, e entry) (item, error) {
	var d document
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return item{}, errors.New("its content is not that of an escrow")
	}
	if d.Version != documentVersion {
		return item{}, fmt.Errorf("its version is %d, this program knows %d", d.Version, documentVersion)
	}
	if d.Fleet != id || d.Kind != e.Kind || d.Name != e.Name {
		return item{}, fmt.Errorf("it holds %s of fleet %s, and lies in the place of another", entry{Kind: d.Kind, Name: d.Name}, d.Fleet)
	}
	key, err := fleet.ParseKey(d.Name)
	if err != nil {
		return item{}, err
	}
	i := item{kind: d.Kind, key: key, secrets: make(map[fleet.SecretName]fleet.SecretData)}
	for name, keys := range d.Secrets {
		i.secrets[name] = fleet.NewSecretData(keys)
	}
	return i, nil
}

// holds returns the names in i, sorted.
func (i item) holds() []fleet.SecretName {
	if i.kind != kindCluster {
		return nil
	}
	var names []fleet.SecretName
	for n := range i.secrets {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// authority returns the private key that the digest of a cluster is keyed with.
func (i item) authority() []byte { return i.secrets[fleet.ClusterCA][fleet.TLSKeyKey].Reveal() }

// digest returns the HMAC of plain under a key that comes from secret.
func digest(secret, plain []byte) (string, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "fairlead escrow digest 1", sha256.Size)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(plain)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

func encrypt(plain []byte, to []age.Recipient) ([]byte, error) {
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decrypt reads a file. Its errors hold nothing of the content, which age's own
// quote.
func decrypt(file []byte, identities []age.Identity) ([]byte, error) {
	plain, err := age.Decrypt(bytes.NewReader(file), identities...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, errors.New("it is encrypted for others than the identity that was given")
	}
	if err != nil {
		return nil, errors.New("it does not begin as an age file does")
	}
	content, err := io.ReadAll(plain)
	if err != nil {
		return nil, errors.New("it was cut off or changed")
	}
	return content, nil
}
