#if Network
  import ConiferServer
  import ServiceLifecycle
  import Synchronization

  /// A file of security rules for all databases of a server; when it changes, so do the rules.
  final class RulesFile: Service {
    /// How often it is looked at; it is small, so that it is read each time.
    private static let interval = Duration.milliseconds(500)
    /// The most bytes of rules.
    private static let longest = 1 << 20

    private let path: String
    private let server: Server
    private let console: Console
    /// The file's content when it was last read, valid or not; nil when it could not be read.
    private let seen: Mutex<[UInt8]?>

    /// Reads a file of rules, and sets them.
    ///
    /// - Throws: `Failure` when it cannot be read, and with line and column when it holds no rules.
    init(_ path: String, _ server: Server, _ console: Console) throws {
      self.path = path
      self.server = server
      self.console = console
      let rules = try Input.regularFile(path, atMost: Self.longest)
      do throws(RulesError) {
        server.setRules(try SecurityRules(json: rules))
      } catch {
        throw Failure("bad-rules", .badData, Self.words(path, error))
      }
      seen = Mutex(rules)
    }

    /// Looks at the file until the server stops.
    func run() async throws {
      await cancelWhenGracefulShutdown {
        while (try? await Task.sleep(for: Self.interval)) != nil { self.look() }
      }
    }

    private func look() {
      let bytes = try? Input.regularFile(path, atMost: Self.longest)
      let note = seen.withLock { seen -> String? in
        if bytes == seen { return nil }
        seen = bytes
        guard let bytes else { return "\(path) cannot be read; the rules stay as they were." }
        do throws(RulesError) {
          server.setRules(try SecurityRules(json: bytes))
          return "The rules are those of \(path) as it is now."
        } catch {
          return "\(Self.words(path, error)) The rules stay as they were."
        }
      }
      if let note { console.note("conifer: \(note)") }
    }

    private static func words(_ path: String, _ error: RulesError) -> String {
      "\(path):\(error.line):\(error.column): \(error.message)"
    }
  }
#endif
