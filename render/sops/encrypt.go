package sops

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// secretKeys chooses the values of a Secret that are encrypted: what people give
// sops as --encrypted-regex.
const secretKeys = "^(data|stringData)$"

// EncryptSecret returns secret, a Secret in YAML, as sops would write it for age
// recipients ("age1…"): sops itself can edit it, and so can who has one of the
// identities. now goes into it as the time of the last change.
func EncryptSecret(secret []byte, recipients []string, now time.Time) ([]byte, error) {
	const op = "encrypt a Secret"
	if len(recipients) == 0 {
		return nil, fleet.Errorf(fleet.Invalid, op, "no age recipient is given")
	}
	doc, err := documents.Node(secret, documents.BuiltLimits())
	if err != nil || doc == nil || len(doc.Content) != 1 || !isSecret(doc.Content[0]) {
		return nil, fleet.Errorf(fleet.Invalid, op, "it is no Secret of version v1 in YAML")
	}
	m := metadata{EncryptedRegex: secretKeys, LastModified: now.UTC().Format(time.RFC3339)}
	chosen, err := m.rule()
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	key := make([]byte, dataKeySize)
	_, _ = rand.Read(key) // never fails
	mac := sha512.New()
	if err := encryptAll(doc.Content[0], nil, key, func(keys []string, n *yaml.Node) (bool, error) {
		text, err := plain(n)
		mac.Write(text)
		return chosen(keys), err
	}); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if m.MAC, err = encrypt(fmt.Sprintf("%X", mac.Sum(nil)), key, m.LastModified); err != nil {
		return nil, err
	}
	for _, r := range recipients {
		k, err := wrapKey(key, r)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, op, "%q is no age recipient: %w", r, err)
		}
		m.Age = append(m.Age, k)
	}
	var note yaml.Node
	if err := note.Encode(map[string]any{
		"age": m.Age, "encrypted_regex": m.EncryptedRegex, "lastmodified": m.LastModified, "mac": m.MAC, "version": "3.10.2",
	}); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	top := doc.Content[0]
	top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "sops"}, &note)
	return yaml.Marshal(top)
}

// encryptAll encrypts the scalars in n that choose chooses, in their order.
func encryptAll(n *yaml.Node, keys []string, key []byte, choose func([]string, *yaml.Node) (bool, error)) error {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := encryptAll(n.Content[i+1], append(slices.Clone(keys), n.Content[i].Value), key, choose); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if err := encryptAll(c, keys, key, choose); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		if n.ShortTag() == "!!null" {
			return nil
		}
		if chosen, err := choose(keys, n); err != nil || !chosen || n.Value == "" {
			return err
		}
		text, err := encrypt(n.Value, key, strings.Join(keys, ":")+":")
		if err != nil {
			return err
		}
		n.Value, n.Tag, n.Style = text, "!!str", 0
	}
	return nil
}

// nonceSize is that of the nonces that sops takes.
const nonceSize = 32

// encrypt is the inverse of decrypt, for texts.
func encrypt(text string, key []byte, bound string) (string, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, nonceSize)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // never fails
	sealed := gcm.Seal(nil, nonce, []byte(text), []byte(bound))
	data, tag := sealed[:len(sealed)-gcm.Overhead()], sealed[len(sealed)-gcm.Overhead():]
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%sdata:%s,iv:%s,tag:%s,type:str]", mark, b64(data), b64(nonce), b64(tag)), nil
}

// wrapKey encrypts the data key for a recipient.
func wrapKey(key []byte, recipient string) (ageKey, error) {
	r, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return ageKey{}, err
	}
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, r)
	if err != nil {
		return ageKey{}, err
	}
	if _, err := w.Write(key); err != nil {
		return ageKey{}, err
	}
	if err := w.Close(); err != nil {
		return ageKey{}, err
	}
	if err := a.Close(); err != nil {
		return ageKey{}, err
	}
	return ageKey{Recipient: recipient, Enc: b.String()}, nil
}

// IsRecipient reports whether text is one public key of age, of any kind.
func IsRecipient(text string) bool {
	all, err := age.ParseRecipients(strings.NewReader(text))
	return err == nil && len(all) == 1
}
