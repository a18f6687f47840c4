public import Conifer
import ConiferKeyValue
public import ConiferSQLite
public import ConiferStorage
public import Foundation

#if WebSocket
  public import ConiferWebSocket
  public import ConiferWire
#endif

// URLs as Foundation has them, wherever one, or the path of a directory, is taken as text.
extension Database {
  /// Names the server of the app's common database, as ``configure(url:)-(String)`` does.
  ///
  /// - Parameter url: such as `https://my-app.example.com` or `http://localhost:9000?ns=my-app`. An
  ///   invalid one is logged as an error, and names no server.
  public static func configure(url: URL) { configure(url: url.absoluteString) }
}

extension StorageConfiguration {
  /// Storage in SQLite, in a directory of its own.
  ///
  /// - Parameters:
  ///   - directory: the URL of a file, such as one below `URL.applicationSupportDirectory`; made if it is missing. The
  ///     storage of another URL, or of one on another host, fails to open as `invalid`.
  ///   - options: the options that every backend takes.
  ///   - sqlite: SQLite's own.
  public static func sqlite(
    at directory: URL, options: StorageOptions = StorageOptions(),
    sqlite: SQLiteOptions = SQLiteOptions()
  ) -> StorageConfiguration {
    do throws(StoreError) {
      return .sqlite(at: try directory.directoryPath(), options: options, sqlite: sqlite)
    } catch {
      return StorageConfiguration(name: "sqlite", location: nil, options: options) {
        (_) throws(StoreError) in throw error
      }
    }
  }
}

extension URL {
  /// The path that it names on this device.
  ///
  /// - Throws: `invalid` when it names none.
  fileprivate func directoryPath() throws(StoreError) -> String {
    let url = absoluteURL
    let isHere = ["", "localhost"].contains(url.host(percentEncoded: false) ?? "")
    let path = url.path(percentEncoded: false)
    guard url.isFileURL, isHere, !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(
        .invalid,
        "\"\(url.absoluteString)\" is no directory on this device: make the URL by URL(filePath:directoryHint:) "
          + "or from URL.applicationSupportDirectory.")
    }
    return path
  }
}

#if WebSocket
  extension Transport where Self == WebSocketTransport {
    /// A way to a server over a WebSocket.
    ///
    /// - Parameters:
    ///   - url: such as `wss://my-app.example.com` or `ws://localhost:9000`.
    ///   - options: times, sizes and trust.
    public static func webSocket(
      _ url: URL, options: WebSocketOptions = WebSocketOptions()
    ) -> WebSocketTransport { .webSocket(url.absoluteString, options: options) }
  }
#endif
