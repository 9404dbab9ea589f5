package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/sandbox"
)

// Bounds of a session's jobs.
const (
	jobMax     = 30 * time.Minute // then a job is ended
	jobsMax    = 32               // that run at once
	jobsEnded  = 32               // that are remembered
	settleTime = 20 * time.Millisecond
)

// JobTable holds the commands that run in the background, apart for each
// session. It is safe for concurrent use.
type JobTable struct {
	mu       sync.Mutex
	sessions map[string]*sessionJobs
}

type sessionJobs struct {
	next  int
	jobs  []*job
	quota quota
}

// NewJobs makes an empty table.
func NewJobs() *JobTable { return &JobTable{sessions: map[string]*sessionJobs{}} }

// job is a command, and what it started.
type job struct {
	id, command string // the id is "" until it is in a table
	how         confined
	p           sandbox.Process
	out         *capture
	began       time.Time

	exited chan struct{} // closed when the command itself has exited
	exit   sandbox.Exit  // valid then, as are err and took
	err    error
	took   time.Duration

	mu     sync.Mutex
	cursor int64  // where the model has read to
	why    string // it was ended
	told   bool   // the model knows that it has ended
}

// Job is a background command as programs see it.
type Job struct {
	ID, Command string
	Started     time.Time
	Status      string        // for people
	Exit        *sandbox.Exit // nil while the command runs
	PIDs        []int         // that are left
	OutputPath  string        // "" if there is no file
}

// sessionID is the session that a call belongs to.
func sessionID(ctx context.Context) string {
	if t := agent.FromContext(ctx); t != nil && t.Session != nil {
		return t.Session.ID()
	}
	return ""
}

// session is one session's part of the table. t.mu is held.
func (t *JobTable) session(id string) *sessionJobs {
	if t.sessions == nil {
		t.sessions = map[string]*sessionJobs{}
	}
	s := t.sessions[id]
	if s == nil {
		s = &sessionJobs{}
		t.sessions[id] = s
	}
	return s
}

func (t *JobTable) quota(session string) *quota {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &t.session(session).quota
}

// follow begins to watch a command. From now on it is ended after jobMax.
func follow(command string, how confined, p sandbox.Process, out *capture) *job {
	j := &job{command: command, how: how, p: p, out: out, began: time.Now(), exited: make(chan struct{})}
	go func() {
		j.exit, j.err = p.Wait()
		j.took = time.Since(j.began)
		close(j.exited)
	}()
	go func() {
		timer := time.NewTimer(jobMax)
		defer timer.Stop()
		select {
		case <-p.Done():
		case <-timer.C:
			_ = j.stop(fmt.Sprintf("it was ended after %v, which no job outlives", jobMax)) // what is left shows in its state
		}
		<-p.Done()
		out.close()
	}()
	return j
}

var errManyJobs = fmt.Errorf("%d jobs are running, which is the most: kill one with Jobs", jobsMax)

// add puts j into the table.
func (t *JobTable) add(session string, j *job) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session(session)
	if n := s.running(); n >= jobsMax {
		return errManyJobs
	}
	// The oldest of those that have ended are forgotten.
	for ended := len(s.jobs) - s.running(); ended >= jobsEnded; ended-- {
		i := slices.IndexFunc(s.jobs, (*job).over)
		s.jobs = slices.Delete(s.jobs, i, i+1)
	}
	s.next++
	j.id = fmt.Sprintf("j%d", s.next)
	s.jobs = append(s.jobs, j)
	return nil
}

func (s *sessionJobs) running() (n int) {
	for _, j := range s.jobs {
		if !j.over() {
			n++
		}
	}
	return n
}

func (j *job) over() bool {
	select {
	case <-j.p.Done():
		return true
	default:
		return false
	}
}

// full reports whether no more jobs may be started.
func (t *JobTable) full(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session(session).running() >= jobsMax
}

func (t *JobTable) of(ctx context.Context) []*job {
	id := sessionID(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.session(id).jobs)
}

// List returns the jobs of a session, oldest first. Without an agent the
// session is "".
func (t *JobTable) List(session string) []Job {
	t.mu.Lock()
	jobs := slices.Clone(t.session(session).jobs)
	t.mu.Unlock()
	out := make([]Job, len(jobs))
	for i, j := range jobs {
		out[i] = j.public()
	}
	return out
}

// Finished returns the jobs of a session that have ended since it was last
// asked, and of whose end the model has not read: for a notice on the next
// user message.
func (t *JobTable) Finished(session string) []Job {
	t.mu.Lock()
	jobs := slices.Clone(t.session(session).jobs)
	t.mu.Unlock()
	var out []Job
	for _, j := range jobs {
		if !j.over() {
			continue
		}
		j.mu.Lock()
		told := j.told
		j.told = true
		j.mu.Unlock()
		if !told {
			out = append(out, j.public())
		}
	}
	return out
}

func (j *job) public() Job {
	p := Job{ID: j.id, Command: j.command, Started: j.began, Status: j.state(), PIDs: j.p.PIDs(), OutputPath: j.out.filePath()}
	select {
	case <-j.exited:
		exit := j.exit
		p.Exit = &exit
	default:
	}
	return p
}

// End kills all jobs of a session and forgets them.
func (t *JobTable) End(session string) error {
	t.mu.Lock()
	s := t.sessions[session]
	delete(t.sessions, session)
	t.mu.Unlock()
	if s == nil {
		return nil
	}
	errs := make([]error, len(s.jobs))
	var wg sync.WaitGroup
	for i, j := range s.jobs {
		wg.Go(func() { errs[i] = j.stop("its session ended") })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close ends all sessions.
func (t *JobTable) Close() error {
	t.mu.Lock()
	var ids []string
	for id := range t.sessions {
		ids = append(ids, id)
	}
	t.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, t.End(id))
	}
	return errors.Join(errs...)
}
