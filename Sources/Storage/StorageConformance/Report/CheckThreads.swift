internal import Dispatch

/// Threads for checks, which wait for disks, engines and processes: on the few threads that Swift's
/// tasks share, two that wait would stop all others.
final class CheckThreads: TaskExecutor {
  static let shared = CheckThreads()

  private let queue = DispatchQueue(label: "conifer.checks", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
