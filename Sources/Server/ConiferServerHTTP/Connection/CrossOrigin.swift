#if Network
  import NIOCore
  import NIOHTTP1

  /// Headers that allow requests of pages from other origins, such as tools in a browser (the Fetch
  /// standard, "CORS protocol").
  enum CrossOrigin {
    private static let methods = "GET, PUT, PATCH, POST, DELETE, HEAD, OPTIONS"

    /// The answer to `OPTIONS`, also to a browser's preflight request.
    static func preflight(_ request: HTTPHeaders) -> HTTPResponse {
      var headers = [("allow", methods), ("cache-control", "no-store")]
      if request.contains(name: "access-control-request-method") {
        headers.append(("access-control-allow-methods", methods))
        if let asked = request.first(name: "access-control-request-headers") {
          headers.append(("access-control-allow-headers", asked))
        }
        headers.append(("access-control-max-age", "3600"))
        if request.first(name: "access-control-request-private-network") == "true" {
          headers.append(("access-control-allow-private-network", "true"))
        }
      }
      return HTTPResponse(status: 204, headers: headers)
    }

    /// Adds the headers that allow a page of another origin to read the answer.
    ///
    /// - Parameters:
    ///   - headers: the answer's headers.
    ///   - request: the headers of the allowed request; nil when it was refused.
    ///   - origins: the origins that may send requests.
    static func add(
      to headers: inout HTTPHeaders, for request: HTTPHeaders?, _ origins: OriginPolicy
    ) {
      if origins.varies { headers.add(name: "vary", value: "origin") }
      guard let origin = request?.first(name: "origin") else { return }
      headers.add(name: "access-control-allow-origin", value: origins.shared(with: origin))
      headers.add(name: "access-control-expose-headers", value: "etag, location")
    }
  }

  extension OriginPolicy.Question {
    /// The origin and the host of a request.
    ///
    /// - Parameter address: the local address of its connection; an unknown one counts as the
    ///   loopback.
    init(_ head: HTTPRequestHead, at address: SocketAddress?) {
      let headers = head.headers
      self.init(
        isLoopback: address?.ipAddress.map { HostName(address: $0)?.isLoopback == true } ?? true,
        needsHost: head.version != .http1_0 && head.version != .http0_9,
        hosts: headers["host"], authority: RequestTarget(head.uri)?.authority,
        origin: headers.first(name: "origin"), site: headers.first(name: "sec-fetch-site"),
        mode: headers.first(name: "sec-fetch-mode"))
    }
  }
#endif
