package decode

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// namingNote documents the template of names.
const namingNote = "variables alone, no functions. .random is a hash of cluster, pool, template and index, so that a repeated create asks for the same machine; " +
	".machineSet.name is the name of the MachineDeployment with a hash of its template. Names have at most 63 characters: what is written out is cut. A new template renames no machine"

// mostRandom is how often .random may be in a name.
const mostRandom = 3

var placeholder = regexp.MustCompile(`\{\{-?\s*\.([a-zA-Z.]+)\s*-?\}\}`)

// namePattern fills in a template of machine names. fleet.RandomPart in the result stands
// for the part that tells machines apart. Source: Cluster API, internal/topology/names.
func namePattern(template string, known map[string]string) (string, error) {
	var unknown string
	out := placeholder.ReplaceAllStringFunc(template, func(text string) string {
		name := placeholder.FindStringSubmatch(text)[1]
		if name == "random" {
			return fleet.RandomPart
		}
		value, ok := known[name]
		if !ok {
			unknown = name
		}
		return value
	})
	switch n := strings.Count(out, fleet.RandomPart); {
	case unknown != "":
		return "", fmt.Errorf("there is no variable .%s here", unknown)
	case strings.Contains(out, "{{"):
		return "", fmt.Errorf("may hold variables such as {{ .cluster.name }} alone")
	case strings.Count(template, fleet.RandomPart) > 0:
		return "", fmt.Errorf("%s is no part of a name", fleet.RandomPart)
	case n == 0:
		return "", fmt.Errorf("{{ .random }} is missing: machines would have one name")
	case n > mostRandom:
		return "", fmt.Errorf("{{ .random }} may stand in it %d times", mostRandom)
	}
	if problems := validation.IsDNS1123Subdomain(strings.ReplaceAll(out, fleet.RandomPart, "0")); len(problems) > 0 {
		return "", fmt.Errorf("names would not be valid: %s", strings.Join(problems, "; "))
	}
	return out, nil
}

// validateNaming checks a template of names with these variables.
func validateNaming(template string, path *field.Path, variables ...string) field.ErrorList {
	if template == "" {
		return nil
	}
	known := map[string]string{"cluster.name": "c"}
	for _, v := range variables {
		known[v] = "p"
	}
	if _, err := namePattern(template, known); err != nil {
		return field.ErrorList{field.Invalid(path.Child("template"), template, err.Error())}
	}
	return nil
}

// namesOf returns the pattern for the names of machines, from a valid template; empty where
// there is no template.
func (b *builder) namesOf(template, owner string, value string) string {
	if template == "" {
		return ""
	}
	pattern, _ := namePattern(template, map[string]string{"cluster.name": b.key.Name, owner: value})
	return pattern
}

// namingSchema is the schema of hashes in names of machines. It stays the same when a schema is
// added: names are part of a definition, whose digest must not change with the version.
const namingSchema = "2"

// machineSetName returns a name in place of that of a MachineSet: one for each template of p.
func machineSetName(deployment string, p *fleet.Pool) string {
	_, hash, _ := strings.Cut(string(p.In(namingSchema)), "-")
	return deployment + "-" + hash[:min(len(hash), 5)]
}
