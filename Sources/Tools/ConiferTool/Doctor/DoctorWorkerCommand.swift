import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// The process that opens a copy of a store for `doctor`, tells what is in it, and tidies it, to see what that gives back.
struct DoctorWorkerCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor-worker", abstract: "The process that doctor runs.", shouldDisplay: false)

  /// How long tidying may take; what it has given back until then is told.
  private static let patience = Duration.seconds(60)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await Worker.answer(console) {
      // The parent command has already warned about the key file.
      let configuration = try store.configuration(console.quiet)
      var (facts, tidying) = try await StoreOptions.opened(configuration) { backend in
        (try StoreFacts.of(backend), try await Self.tidied(backend))
      }
      // Closing cuts what was allocated ahead.
      let size = try await StoreOptions.opened(configuration) { try $0.size() }
      tidying.append(("size", StoreFacts.report(size)))
      tidying.append(("why", .optional(CompactCommand.reason(size, configuration.name))))
      facts.append(("tidying", .object(tidying)))
      return .object(facts)
    }
  }

  /// Tidies to the end, or as long as there is patience.
  private static func tidied(
    _ backend: any StorageBackend
  ) async throws -> [(String, Report)] {
    let end = ContinuousClock.now + patience
    var isMore = true
    var failure: String?
    do throws(StoreError) {
      while isMore, ContinuousClock.now < end {
        isMore = try await backend.tidy(.milliseconds(100))
      }
    } catch {
      failure = error.code.rawValue
    }
    let usage = try backend.inspect { try $0.usage(nil) }
    return [
      ("done", .bool(!isMore)), ("failure", .optional(failure)), ("records", .integer(usage.total)),
      ("dictionaries", .integer(usage.dictionaryCount)),
    ]
  }
}
