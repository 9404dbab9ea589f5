package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/cantle-dev/cantle/sandbox/internal/confine"
)

// helperName is the name under which this program is started as a supervisor.
// A name is chosen by whoever starts a program; no environment reaches it.
const helperName = "cantle-sandbox-supervisor"

// message is what the program and a supervisor say to each other.
type message struct {
	Op string `json:"op"` // start, stop, list, listen, check; started, failed, exit, gone, pids, listening, ready

	Args  []string `json:"args,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	Env   []string `json:"env,omitempty"`
	Grace int64    `json:"grace,omitempty"` // nanoseconds
	Addr  string   `json:"addr,omitempty"`  // to listen at
	Stdin bool     `json:"stdin,omitempty"` // the last of the files beside it is that

	Marks   []Mark        `json:"marks,omitempty"`
	Confine *confine.Spec `json:"confine,omitempty"`

	PID    int    `json:"pid,omitempty"`
	PIDs   []int  `json:"pids,omitempty"`
	Error  string `json:"error,omitempty"`
	Errno  int    `json:"errno,omitempty"`
	Status uint32 `json:"status,omitempty"` // as wait(2) has it
	Left   bool   `json:"left,omitempty"`   // processes are left
}

// maxMessage bounds a message: the system takes no larger command anyway.
const maxMessage = 16 << 20

// send writes m with open files beside it.
func send(c *net.UnixConn, m message, fds ...int) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(body) > maxMessage {
		return syscall.E2BIG
	}
	buf := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	buf = append(buf, body...)
	var oob []byte
	if len(fds) > 0 {
		oob = syscall.UnixRights(fds...)
	}
	n, _, err := c.WriteMsgUnix(buf, oob, nil)
	if err == nil && n < len(buf) {
		_, err = c.Write(buf[n:])
	}
	return err
}

// receive reads a message and the open files beside it.
func receive(c *net.UnixConn) (m message, fds []int, err error) {
	defer func() {
		if err != nil {
			closeAll(fds)
			fds = nil
		}
	}()
	var head [4]byte
	oob := make([]byte, syscall.CmsgSpace(3*4))
	n, oobn, _, _, err := c.ReadMsgUnix(head[:], oob)
	if err != nil {
		return m, nil, err
	}
	if oobn > 0 {
		msgs, err := syscall.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return m, nil, err
		}
		for _, s := range msgs {
			got, err := syscall.ParseUnixRights(&s)
			if err != nil {
				return m, fds, err
			}
			for _, fd := range got {
				syscall.CloseOnExec(fd)
			}
			fds = append(fds, got...)
		}
	}
	if n == 0 {
		return m, fds, io.EOF
	}
	if _, err := io.ReadFull(c, head[n:]); err != nil {
		return m, fds, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMessage {
		return m, fds, errors.New("sandbox: a message is too long")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c, body); err != nil {
		return m, fds, err
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fds, fmt.Errorf("sandbox: a message is damaged: %w", err)
	}
	return m, fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}
