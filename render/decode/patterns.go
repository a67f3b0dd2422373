package decode

import "regexp"

// A pattern is a regular expression that a text matches.
type pattern struct {
	is   *regexp.Regexp
	must string // what it must be, for people
}

// patternsTable returns the patterns of upstream's resource definitions by name. Several of
// upstream's may have one name where they mean the same.
func patternsTable() map[string]pattern {
	const (
		label  = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
		name   = `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
		number = `(0|[1-9][0-9]*)`
		octet  = `([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])`
		hex    = `[0-9A-Fa-f]`
	)
	const (
		subdomain = label + `(\.` + label + `)*`
		ipv4      = `(` + octet + `\.){3}` + octet
		ipv6      = `(` + hex + `{1,4}:){7}` + hex + `{1,4}|(` + hex + `{1,4}:){1,7}:|(` + hex + `{1,4}:){1,6}:` + hex + `{1,4}|` +
			`(` + hex + `{1,4}:){1,5}(:` + hex + `{1,4}){1,2}|(` + hex + `{1,4}:){1,4}(:` + hex + `{1,4}){1,3}|` +
			`(` + hex + `{1,4}:){1,3}(:` + hex + `{1,4}){1,4}|(` + hex + `{1,4}:){1,2}(:` + hex + `{1,4}){1,5}|` +
			hex + `{1,4}:(:` + hex + `{1,4}){1,6}|:((:` + hex + `{1,4}){1,7}|:)`
		uuid = hex + `{8}(-` + hex + `{4}){3}-` + hex + `{12}`
	)
	out := make(map[string]pattern)
	for id, p := range map[string]struct{ is, must string }{
		"noComma":       {`[^,]+`, "a text without a comma"},
		"noSpace":       {`[^ ]+`, "a text without a space"},
		"dnsLabel":      {label, "a name of lower case letters, digits and -, which begins and ends with a letter or digit"},
		"dnsName":       {subdomain, "a name of lower case letters, digits, - and ., which begins and ends with a letter or digit"},
		"qualifiedName": {`(` + subdomain + `/)?` + name, "a name of letters, digits, -, _ and ., which begins and ends with a letter or digit, with or without a domain and / before it"},
		"labelValue":    {`(` + name + `)?`, "empty, or letters, digits, -, _ and ., which begin and end with a letter or digit"},
		"kind":          {`[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?`, "the name of a kind"},
		"word":          {`[a-zA-Z][a-zA-Z0-9._-]*`, "letters, digits, ., _ and -, which begin with a letter"},
		"apiVersion":    {subdomain + `/[a-z]([-a-z0-9]*[a-z0-9])?`, "GROUP/VERSION"},
		"range":         {`\[[0-9]+-[0-9]+\]`, `a range such as "[1-3]"`},
		"balancerName":  {`[A-Za-z0-9]([A-Za-z0-9]{0,31}|[-A-Za-z0-9]{0,30}[A-Za-z0-9])`, "the name of a load balancer: 32 letters, digits and - at most, which begin and end with a letter or digit"},
		"bucket":        {`[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]`, "the name of a bucket: 3 to 63 lower case letters, digits, . and -, which begin and end with a letter or digit"},
		"dedicatedHost": {`h-[0-9a-f]{17}`, "the id of a dedicated host, such as h-0123456789abcdef0"},
		"zone":          {`[1-3]`, "an availability zone: 1, 2 or 3"},
		"eksVersion":    {`v?` + number + `\.` + number + `\.?(\.0|[1-9][0-9]*)?`, "a version of Kubernetes that EKS has, such as 1.33"},
		"https":         {`https://.*`, "a URL that begins with https://"},
		"ipv4":          {ipv4, "an IPv4 address"},
		"ipv6":          {ipv6, "an IPv6 address"},
		"ip":            {ipv4 + `|` + ipv6, "an IP address"},
		"uuid":          {hex + `{8}-?` + hex + `{4}-?` + hex + `{4}-?` + hex + `{4}-?` + hex + `{12}`, "a UUID"},
		"digits":        {`\d+`, "a whole number"},
		"minutes":       {`\d+m`, "a number of minutes, such as 10m"},
		"seconds":       {`\d+s`, "a number of seconds, such as 10s"},
		"partitionType": {`Linux|LinuxSwap|LinuxRAID|LVM|Fat32|NTFS|LinuxExtended|` + uuid, "Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended or a UUID"},
	} {
		out[id] = pattern{regexp.MustCompile(`^(` + p.is + `)$`), p.must}
	}
	return out
}
