package sops

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"fairlead.dev/fleet/documents"
)

// metadata is what sops writes beside the values.
type metadata struct {
	KeyGroups []any    `yaml:"key_groups"`
	Age       []ageKey `yaml:"age"`
	PGP       []any    `yaml:"pgp"`
	KMS       []any    `yaml:"kms"`
	GCPKMS    []any    `yaml:"gcp_kms"`
	AzureKV   []any    `yaml:"azure_kv"`
	HCVault   []any    `yaml:"hc_vault"`
	HCKMS     []any    `yaml:"hckms"`

	LastModified string `yaml:"lastmodified"`
	MAC          string `yaml:"mac"`
	MACOnly      bool   `yaml:"mac_only_encrypted"` // the code covers encrypted values alone

	UnencryptedSuffix       string `yaml:"unencrypted_suffix"`
	EncryptedSuffix         string `yaml:"encrypted_suffix"`
	UnencryptedRegex        string `yaml:"unencrypted_regex"`
	EncryptedRegex          string `yaml:"encrypted_regex"`
	UnencryptedCommentRegex string `yaml:"unencrypted_comment_regex"`
	EncryptedCommentRegex   string `yaml:"encrypted_comment_regex"`
}

// An ageKey is the data key, encrypted for one recipient.
type ageKey struct {
	Recipient string `yaml:"recipient"`
	Enc       string `yaml:"enc"` // armored
}

func (m *metadata) recipients() []string {
	var out []string
	for _, k := range m.Age {
		out = append(out, k.Recipient)
	}
	slices.Sort(out)
	return out
}

// others names the ways, other than age, in which the data key is encrypted.
func (m *metadata) others() []string {
	var out []string
	for _, way := range []struct {
		name string
		keys []any
	}{
		{"PGP", m.PGP},
		{"AWS KMS", m.KMS},
		{"GCP KMS", m.GCPKMS},
		{"Azure Key Vault", m.AzureKV},
		{"Vault", m.HCVault},
		{"Huawei Cloud KMS", m.HCKMS},
	} {
		if len(way.keys) > 0 {
			out = append(out, way.name)
		}
	}
	return out
}

// defaultSuffix marks keys whose values are plain, where nothing else is said.
const defaultSuffix = "_unencrypted"

// A rule says which values are encrypted, by the keys on the way to them.
type rule func(keys []string) bool

// rule returns how sops chose what to encrypt.
func (m *metadata) rule() (rule, error) {
	var set []string
	for name, value := range map[string]string{
		"unencrypted_suffix": m.UnencryptedSuffix, "encrypted_suffix": m.EncryptedSuffix,
		"unencrypted_regex": m.UnencryptedRegex, "encrypted_regex": m.EncryptedRegex,
		"unencrypted_comment_regex": m.UnencryptedCommentRegex, "encrypted_comment_regex": m.EncryptedCommentRegex,
	} {
		if value != "" {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	if len(set) > 1 {
		return nil, &documents.Refusal{Message: "the sops metadata has " + list(set) + ", of which there may be one", Hint: damagedHint}
	}
	matches := func(expr string) (func(string) bool, error) {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, &documents.Refusal{Message: "the sops metadata has " + set[0] + ", which is no regular expression", Hint: damagedHint}
		}
		return re.MatchString, nil
	}
	hasSuffix := func(suffix string) func(string) bool {
		return func(key string) bool { return strings.HasSuffix(key, suffix) }
	}
	var match func(string) bool
	var err error
	switch {
	case len(set) == 0:
		match = hasSuffix(defaultSuffix)
	case m.UnencryptedSuffix != "":
		match = hasSuffix(m.UnencryptedSuffix)
	case m.EncryptedSuffix != "":
		match = hasSuffix(m.EncryptedSuffix)
	case m.UnencryptedRegex != "":
		match, err = matches(m.UnencryptedRegex)
	case m.EncryptedRegex != "":
		match, err = matches(m.EncryptedRegex)
	default:
		return nil, &documents.Refusal{Message: "the file chooses by comments which values are encrypted, which is not supported", Hint: "encrypt it with encrypted_regex instead"}
	}
	chosen := m.EncryptedSuffix != "" || m.EncryptedRegex != ""
	return func(keys []string) bool { return slices.ContainsFunc(keys, match) == chosen }, err
}

// dataKeySize is that of AES-256.
const dataKeySize = 32

// dataKey returns the key that the values are encrypted with.
func (d *Decrypter) dataKey(m *metadata) ([]byte, error) {
	switch {
	case len(m.KeyGroups) > 0:
		return nil, &documents.Refusal{Message: "the key of the file is split between groups of keys, which is not supported", Hint: "encrypt it for age recipients without key groups"}
	case len(m.Age) == 0:
		return nil, &documents.Refusal{
			Message: "the file is encrypted with " + list(append(m.others(), "no age recipient")),
			Hint:    "add one: sops rotate --in-place --add-age RECIPIENT; fairlead secrets recipient prints it",
		}
	case len(d.identities) == 0:
		return nil, &documents.Refusal{
			Message: "the file is encrypted for " + list(m.recipients()) + ", and there is no age identity to decrypt it with",
			Hint:    "give the identity of one of them with --age-identity-file",
		}
	}
	for _, k := range m.Age {
		r, err := age.Decrypt(armor.NewReader(strings.NewReader(strings.TrimSpace(k.Enc)+"\n")), d.identities...)
		if err != nil {
			continue
		}
		key, err := io.ReadAll(io.LimitReader(r, dataKeySize+1))
		if err != nil || len(key) != dataKeySize {
			return nil, &documents.Refusal{Message: fmt.Sprintf("the key in the sops metadata for %s is damaged", k.Recipient), Hint: damagedHint}
		}
		return key, nil
	}
	return nil, &documents.Refusal{
		Message: "the file is encrypted for " + list(m.recipients()) + ", and none of the age identities here is for one of them",
		Hint:    "add a recipient that fairlead secrets recipient prints: sops rotate --in-place --add-age RECIPIENT; or give the right identity with --age-identity-file",
	}
}
