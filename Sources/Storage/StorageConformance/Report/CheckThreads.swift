internal import Dispatch

/// Runs checks on a queue with more threads than processors. Checks block on disks, engines and
/// processes, which would stop all other tasks in Swift's own pool.
final class CheckThreads: TaskExecutor {
  static let shared = CheckThreads()

  private let queue = DispatchQueue(label: "conifer.checks", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
