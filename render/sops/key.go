package sops

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// metadata is what sops writes beside the values.
type metadata struct {
	KeyGroups []any            `yaml:"key_groups"`
	Age       []ageKey         `yaml:"age"`
	PGP       []map[string]any `yaml:"pgp"`
	KMS       []map[string]any `yaml:"kms"`
	GCPKMS    []map[string]any `yaml:"gcp_kms"`
	AzureKV   []map[string]any `yaml:"azure_kv"`
	HCVault   []map[string]any `yaml:"hc_vault"`
	HCKMS     []map[string]any `yaml:"hckms"`

	Version      string `yaml:"version"`
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

// A service is a way, other than age, to encrypt the data key.
type service struct {
	name  string
	field string // field in the metadata
	keys  []map[string]any
	ids   []string // fields that identify a key
	// variables, and prefixes of variables, that the service's client reads.
	variables, prefixes []string
}

func (m *metadata) services() []service {
	return []service{
		{"PGP", "pgp", m.PGP, []string{"fp"}, []string{"GNUPGHOME"}, nil},
		{"AWS KMS", "kms", m.KMS, []string{"arn"}, nil, []string{"AWS_"}},
		{"GCP KMS", "gcp_kms", m.GCPKMS, []string{"resource_id"}, []string{"CLOUDSDK_CONFIG"}, []string{"GOOGLE_"}},
		{"Azure Key Vault", "azure_kv", m.AzureKV, []string{"vault_url", "name"}, []string{"IDENTITY_ENDPOINT", "IDENTITY_HEADER"}, []string{"AZURE_"}},
		{"Vault", "hc_vault", m.HCVault, []string{"vault_address", "key_name"}, nil, []string{"VAULT_"}},
		{"Huawei Cloud KMS", "hckms", m.HCKMS, []string{"key_id"}, nil, []string{"HUAWEICLOUD_"}},
	}
}

// hasOthers reports whether the data key is encrypted for others than age recipients.
func (m *metadata) hasOthers() bool {
	return slices.ContainsFunc(m.services(), func(s service) bool { return len(s.keys) > 0 })
}

// file returns docs, which have no metadata, in the form that sops reads. It adds the known
// metadata only, without that of age: sops reads nothing that was not checked here.
func (m *metadata) file(docs []*yaml.Node) ([]byte, error) {
	note := map[string]any{"mac": m.MAC, "lastmodified": m.LastModified, "version": m.Version}
	for _, s := range m.services() {
		if len(s.keys) > 0 {
			note[s.field] = s.keys
		}
	}
	if m.MACOnly {
		note["mac_only_encrypted"] = true
	}
	for name, value := range m.rules() {
		if value != "" {
			note[name] = value
		}
	}
	var n yaml.Node
	if err := n.Encode(note); err != nil {
		return nil, err
	}
	out := make([]*yaml.Node, len(docs))
	for i, doc := range docs {
		if doc.Kind != yaml.MappingNode {
			return nil, errors.New("a document that is no mapping")
		}
		c := *doc
		c.Content = append(slices.Clone(doc.Content), &yaml.Node{Kind: yaml.ScalarNode, Value: "sops"}, &n)
		out[i] = &c
	}
	return documents.Marshal(out)
}

// rules are the settings that say which values are encrypted, by their name in the
// metadata.
func (m *metadata) rules() map[string]string {
	return map[string]string{
		"unencrypted_suffix": m.UnencryptedSuffix, "encrypted_suffix": m.EncryptedSuffix,
		"unencrypted_regex": m.UnencryptedRegex, "encrypted_regex": m.EncryptedRegex,
		"unencrypted_comment_regex": m.UnencryptedCommentRegex, "encrypted_comment_regex": m.EncryptedCommentRegex,
	}
}

// defaultSuffix marks keys with plain values, unless the metadata says otherwise.
const defaultSuffix = "_unencrypted"

// A rule says whether a value is encrypted, by its path of keys.
type rule func(keys []string) bool

// rule returns the rule that sops encrypted by.
func (m *metadata) rule() (rule, error) {
	var set []string
	for name, value := range m.rules() {
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

// orProgram says how a file without an age recipient can be decrypted.
func (m *metadata) orProgram() string {
	if !m.hasOthers() {
		return ""
	}
	return "; or install sops" + m.tools() + " where this runs, and let it decrypt such files with --sops-program sops"
}

// dataKeySize is that of AES-256.
const dataKeySize = 32

// dataKey returns the key that values are encrypted with.
func (d *Decrypter) dataKey(m *metadata) ([]byte, error) {
	switch {
	case len(m.KeyGroups) > 0:
		return nil, &documents.Refusal{Message: "the key of the file is split between groups of keys, which is not supported", Hint: "encrypt it for age recipients without key groups"}
	case len(m.Age) == 0:
		return nil, &documents.Refusal{
			Message: "the file is encrypted for " + m.whom() + ", and for no age recipient",
			Hint:    "add one: sops rotate --in-place --add-age RECIPIENT; fairlead secrets recipient prints it" + m.orProgram(),
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
