import ConiferKeyValue
import ConiferStorage
import Dispatch

/// The one thread on which an engine and its reads of storage run.
///
/// It is an executor for the engine's actor, and for the tasks that the engine starts, so that async
/// functions of storage run there too instead of hopping to the pool of the runtime.
package final class EngineThread: SerialExecutor, TaskExecutor {
  fileprivate struct Work: Sendable {
    let job: UnownedJob
    // Keeps the executor until the job has run.
    let executor: EngineThread
  }

  private let thread: StoreThread<Work>?
  /// Stands in where the system gives no thread.
  private let queue: DispatchQueue?

  package init() {
    do throws(StoreError) {
      thread = try StoreThread { works, _ in
        for work in works { work.run() }
        return false
      }
      queue = nil
    } catch {
      thread = nil
      queue = DispatchQueue(label: "conifer.engine")
    }
  }

  deinit { thread?.end() }

  /// Runs a job after those that were given before.
  package func enqueue(_ job: consuming ExecutorJob) {
    let work = Work(job: UnownedJob(job), executor: self)
    if let thread {
      _ = thread.submit(work)
    } else {
      queue?.async { work.run() }
    }
  }

  /// This executor, for an actor.
  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }
}

extension EngineThread.Work {
  fileprivate func run() {
    job.runSynchronously(
      isolatedTo: executor.asUnownedSerialExecutor(), taskExecutor: executor.asUnownedTaskExecutor()
    )
  }
}
