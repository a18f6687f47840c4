#if Network
  import Foundation

  /// The number that an environment variable gives, or a small one.
  package func size(_ name: String, _ usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
  }
#endif
