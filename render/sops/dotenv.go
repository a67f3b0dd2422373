package sops

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// metadataPrefix begins the names of lines that sops adds to a dotenv file.
const metadataPrefix = "sops_"

// ageLine is the name of a line with a part of an ageKey.
var ageLine = regexp.MustCompile(`^sops_age__list_(\d{1,3})__map_(recipient|enc)$`)

// serviceLine is the name of a line with a part of a key of a service.
var serviceLine = regexp.MustCompile(`^sops_(pgp|kms|gcp_kms|azure_kv|hc_vault|hckms)__list_(\d{1,3})__map_([a-z_]+)$`)

// dotenv decrypts a file of lines NAME=value, in which sops writes line breaks
// as \n.
func (d *Decrypter) dotenv(ctx context.Context, name string, data []byte) ([]byte, []string, error) {
	var m metadata
	var lines []*yaml.Node // keys and values
	for line := range bytes.Lines(data) {
		text := strings.TrimSuffix(string(line), "\n")
		if text == "" || text[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return data, nil, nil // what is wrong with it is for others to say
		}
		value = strings.ReplaceAll(value, `\n`, "\n")
		if strings.HasPrefix(key, metadataPrefix) {
			m.set(key, value)
			continue
		}
		lines = append(lines, &yaml.Node{Kind: yaml.ScalarNode, Value: key},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
	}
	if m.MAC == "" {
		return data, nil, nil
	}
	if path.Base(name) == ".env" {
		return nil, nil, &documents.Refusal{
			Message: "the file is encrypted, and what variables stand for shows in plans and status",
			Hint:    "put what is secret into a Secret; a secretGenerator may read an encrypted file of another name",
		}
	}
	content := &yaml.Node{Kind: yaml.MappingNode, Content: lines}
	w, err := d.open(ctx, name, &m, []*yaml.Node{content}, false)
	if err != nil {
		return nil, nil, err
	}
	if err := w.walk(content, nil, ""); err != nil {
		return nil, nil, err
	}
	if err := w.verify(&m); err != nil {
		return nil, nil, err
	}
	var out strings.Builder
	for i := 0; i < len(lines); i += 2 {
		out.WriteString(lines[i].Value + "=" + strings.ReplaceAll(lines[i+1].Value, "\n", `\n`) + "\n")
	}
	return []byte(out.String()), w.values, nil
}

// set fills in what a line of a dotenv file says.
func (m *metadata) set(key, value string) {
	if at := ageLine.FindStringSubmatch(key); at != nil {
		i, _ := strconv.Atoi(at[1])
		for len(m.Age) <= i {
			m.Age = append(m.Age, ageKey{})
		}
		if at[2] == "enc" {
			m.Age[i].Enc = value
			return
		}
		m.Age[i].Recipient = value
		return
	}
	if strings.HasPrefix(key, metadataPrefix+"key_groups__list_") {
		m.KeyGroups = append(m.KeyGroups, value)
	}
	if at := serviceLine.FindStringSubmatch(key); at != nil {
		keys := map[string]*[]map[string]any{
			"pgp": &m.PGP, "kms": &m.KMS, "gcp_kms": &m.GCPKMS, "azure_kv": &m.AzureKV, "hc_vault": &m.HCVault, "hckms": &m.HCKMS,
		}[at[1]]
		i, _ := strconv.Atoi(at[2])
		for len(*keys) <= i {
			*keys = append(*keys, map[string]any{})
		}
		(*keys)[i][at[3]] = value
	}
	for name, to := range map[string]*string{
		"lastmodified": &m.LastModified, "mac": &m.MAC, "version": &m.Version,
		"unencrypted_suffix": &m.UnencryptedSuffix, "encrypted_suffix": &m.EncryptedSuffix,
		"unencrypted_regex": &m.UnencryptedRegex, "encrypted_regex": &m.EncryptedRegex,
		"unencrypted_comment_regex": &m.UnencryptedCommentRegex, "encrypted_comment_regex": &m.EncryptedCommentRegex,
	} {
		if key == metadataPrefix+name {
			*to = value
		}
	}
	if key == metadataPrefix+"mac_only_encrypted" {
		m.MACOnly = value == "true"
	}
}
