internal import Dispatch

/// Where checks run: on a queue that may have more threads than there are processors, since they wait
/// for disks, engines and processes. As many that wait would stop all of Swift's other tasks.
final class CheckThreads: TaskExecutor {
  static let shared = CheckThreads()

  private let queue = DispatchQueue(label: "conifer.checks", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
