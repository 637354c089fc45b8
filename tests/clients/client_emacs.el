;;; client_emacs.el --- jsonrpc.el: Content-Length headers; what eglot is built on  -*- lexical-binding: t -*-

(require 'json)
(require 'jsonrpc)
(require 'seq)

(defconst patience 20)
(defconst here (file-name-directory load-file-name))
(defconst conversation
  (with-temp-buffer
    (insert-file-contents (expand-file-name "conversation.json" here))
    (json-parse-buffer :object-type 'plist :null-object nil :false-object :json-false)))
(defvar heard nil)
(defvar served 0)

(defun fits (found expected)
  "Whether all that is EXPECTED is in FOUND; lists are as long as expected."
  (cond ((vectorp expected)
         (and (vectorp found) (= (length found) (length expected)) (seq-every-p #'identity (seq-mapn #'fits found expected))))
        ((keywordp (car-safe expected))
         (and (listp found)
              (cl-loop for (key item) on expected by #'cddr
                       always (and (plist-member found key) (fits (plist-get found key) item)))))
        (t (equal found expected))))

(defun check (what found expected)
  (unless (fits found expected) (error "%s: expected %S, found %S" what expected found)))

(defun wait-for (what condition)
  (let ((deadline (+ (float-time) patience)))
    (while (not (funcall condition))
      (when (> (float-time) deadline) (error "Gave up: %s" what))
      (accept-process-output nil 0.005))))

(defun serve (_host method params)
  (let ((expected (plist-get (plist-get conversation :serve) (intern (format ":%s" method)))))
    (check method params (plist-get expected :params))
    (setq served (1+ served))
    (plist-get expected :result)))

;; Not `jsonrpc-request': the one of Emacs 28 throws out of its process filter at the reply, and a
;; notification that came in the same read stays unread until more bytes come.
(defun ask (host step params)
  (let (reply)
    (jsonrpc-async-request host (intern (plist-get step :request)) params
                           :success-fn (lambda (result) (setq reply (list :result result)))
                           :error-fn (lambda (problem) (setq reply (list :error problem)))
                           :timeout patience)
    (wait-for (plist-get step :request) (lambda () reply))
    reply))

(defun talk (host)
  (seq-doseq (step (plist-get conversation :steps))
    (let ((params (or (plist-get step :params) (make-hash-table))))
      (cond
       ((plist-get step :notify) (jsonrpc-notify host (intern (plist-get step :notify)) params))
       ((plist-get step :edit)
        (rename-file (getenv "EDITED") (expand-file-name (plist-get step :edit) (getenv "HOOKS")) t))
       ((plist-get step :heard)
        (wait-for (plist-get step :heard)
                  (lambda () (seq-some (lambda (it) (fits it (list :method (plist-get step :heard) :params params))) heard))))
       (t
        (let ((outcome (if (plist-member step :error) :error :result)))
          (check (plist-get step :request) (ask host step params) (list outcome (plist-get step outcome))))))))
  (wait-for "the host ends" (lambda () (not (jsonrpc-running-p host))))
  (check "exit code" (process-exit-status (jsonrpc--process host)) 0)
  (check "calls of the host" served 1))

(condition-case problem
    (progn
      (talk (make-instance
             'jsonrpc-process-connection
             :name "hookwire"
             :process (lambda ()
                        (make-process :name "hookwire" :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                      :command (list (getenv "HOOKWIRE") "serve" "--isolated" "--hooks" (getenv "HOOKS"))))
             :request-dispatcher #'serve
             :notification-dispatcher (lambda (_host method params)
                                        (push (list :method (symbol-name method) :params params) heard))))
      (princ (format "ok emacs-jsonrpc %s\n" emacs-version)))
  (error (message "%s" (error-message-string problem)) (kill-emacs 1)))
