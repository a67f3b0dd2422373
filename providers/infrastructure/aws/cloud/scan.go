package cloud

import (
	"bytes"
	"html"
	"time"
)

// scan reads an answer of EC2, which has no attributes of interest and no comments. each is called at
// the end of every element, with the names down to it and its text. It takes a tenth of the time of
// encoding/xml, which is most of what a look at many instances costs.
func scan(data []byte, each func(path []string, text []byte)) {
	path := make([]string, 0, 16)
	names := make(map[string]string)
	for {
		open := bytes.IndexByte(data, '<')
		if open < 0 {
			return
		}
		text := data[:open]
		data = data[open+1:]
		end := bytes.IndexByte(data, '>')
		if end < 0 {
			return
		}
		tag := data[:end]
		data = data[end+1:]
		switch {
		case len(tag) == 0 || tag[0] == '?' || tag[0] == '!':
		case tag[0] == '/':
			if len(path) == 0 {
				return
			}
			each(path, text)
			path = path[:len(path)-1]
		default:
			empty := tag[len(tag)-1] == '/'
			if empty {
				tag = tag[:len(tag)-1]
			}
			if space := bytes.IndexByte(tag, ' '); space >= 0 {
				tag = tag[:space]
			}
			name, ok := names[string(tag)]
			if !ok {
				name = string(tag)
				names[name] = name
			}
			path = append(path, name)
			if empty {
				each(path, nil)
				path = path[:len(path)-1]
			}
		}
	}
}

func plain(text []byte) string {
	if bytes.IndexByte(text, '&') >= 0 {
		return html.UnescapeString(string(text))
	}
	return string(text)
}

// readInstances reads the instances of an answer, which are in reservations in the one to
// DescribeInstances, and alone in that to RunInstances.
func readInstances(data []byte) (out []Instance, next string, whole bool) {
	var i Instance
	var key string
	scan(data, func(path []string, text []byte) {
		whole = len(path) == 1
		at := 1
		if len(path) > 1 && path[1] == "reservationSet" {
			at = 3
		}
		if len(path) == 2 && path[1] == "nextToken" {
			next = plain(text)
			return
		}
		if len(path) < at+2 || path[at] != "instancesSet" {
			return
		}
		rest := path[at+2:]
		switch {
		case len(rest) == 0:
			out = append(out, i)
			i = Instance{}
		case len(rest) == 1:
			i.read(rest[0], text)
		case rest[0] == "instanceState" && rest[1] == "name":
			i.State = plain(text)
		case rest[0] == "stateReason" && rest[1] == "code":
			i.ReasonCode = plain(text)
		case rest[0] == "stateReason" && rest[1] == "message":
			i.Reason = plain(text)
		case rest[0] == "iamInstanceProfile" && rest[1] == "arn":
			i.Profile = plain(text)
		case rest[0] == "networkInterfaceSet" && len(rest) == 5 && rest[4] == "ipv6Address":
			i.Six = append(i.Six, plain(text))
		case rest[0] == "placement" && rest[1] == "availabilityZone":
			i.Zone = plain(text)
		case rest[0] == "tagSet" && len(rest) == 3 && rest[2] == "key":
			key = plain(text)
		case rest[0] == "tagSet" && len(rest) == 3 && rest[2] == "value":
			if i.Tags == nil {
				i.Tags = make(map[string]string, 16)
			}
			i.Tags[key] = plain(text)
		}
	})
	return out, next, whole
}

func (i *Instance) read(name string, text []byte) {
	switch name {
	case "instanceId":
		i.ID = plain(text)
	case "instanceType":
		i.Type = plain(text)
	case "subnetId":
		i.Subnet = plain(text)
	case "vpcId":
		i.VPC = plain(text)
	case "privateIpAddress":
		i.Address = plain(text)
	case "ipAddress":
		i.PublicAddress = plain(text)
	case "clientToken":
		i.Token = plain(text)
	case "instanceLifecycle":
		i.Lifecycle = plain(text)
	case "launchTime":
		i.Launched, _ = time.Parse(time.RFC3339, plain(text)) // EC2 writes no other
	}
}
