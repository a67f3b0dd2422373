package ironic

// Speak has c speak another version of Ironic's API.
func (c *Client) Speak(microversion string) { c.service.Microversion = microversion }
